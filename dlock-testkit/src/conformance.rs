//! The macro that turns a fixture into tests.

/// Makes one `#[test]` for each case of the suite, named after the case, and one that checks that the groups left out
/// are exactly those whose needs the [`Fixture`](crate::Fixture) lacks. Cases of a group left out show as ignored.
///
/// A case that misses an upper bound of time is repeated with a longer lease, a few times; any other failure fails the
/// test at once, however slow the machine is (see [the crate's page](crate#too-slow-and-wrong)).
///
/// Use it once in a module: `conformance!(MyFixture)` or
/// `conformance!(MyFixture, without [watch, admin, purge, prefix])`. The groups are listed in
/// [`GROUPS`](crate::GROUPS).
#[macro_export]
macro_rules! conformance {
    ($fixture:ty) => {
        $crate::__conformance! { ($) $fixture, [], $crate::__for_each_case, $crate::CASES }
    };
    ($fixture:ty, without [$($group:ident),* $(,)?]) => {
        $crate::__conformance! { ($) $fixture, [$($group)*], $crate::__for_each_case, $crate::CASES }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __conformance {
    (($d:tt) $fixture:ty, [$($left_out:ident)*], $for_each_case:path, $cases:path) => {
        static __SHARED: $crate::runner::Shared = $crate::runner::Shared::new();

        // The groups left out come first, so that their cases never reach the last arm.
        macro_rules! __dlock_case {
            $(($left_out $d name:ident) => {
                #[test]
                #[ignore = "its group is left out"]
                fn $d name() {
                    $crate::runner::left_out(stringify!($d name));
                }
            };)*
            ($d group:ident $d name:ident) => {
                #[test]
                fn $d name() {
                    $crate::runner::run::<$fixture>(&__SHARED, $cases, stringify!($d name));
                }
            };
        }

        macro_rules! __dlock_cases {
            ($d($d group:ident $d module:ident $d name:ident [$d($d rule:literal),*];)*) => {
                $d(__dlock_case! { $d group $d name })*
            };
        }

        $for_each_case!(__dlock_cases);

        #[test]
        fn groups_left_out_are_what_the_fixture_lacks() {
            $crate::runner::groups_agree::<$fixture>(&__SHARED, &[$(stringify!($left_out)),*]);
        }
    };
}
