//! The stories that an election on a real store must pass: a leader that crashes, stops, is cut off, is slow, is
//! revoked or asked to resign, and a store that is gone for all.
//!
//! An [`Electorate`] says how to reach the store; [`election_stories!`] makes one test of each story, with a
//! [`Proxy`](dlock_testkit::proxy::Proxy) between each instance and the server, where there is one. They run in real
//! time on a small scale: a lease of 1.5 s stands for the 60 s of the defaults, and everything else keeps its ratio to
//! it (a renewal every third of a lease, an attempt every half, a margin of a fifth), so a second here is 40 of a
//! service's. Bounds get a fifth of a lease on top, for round trips and a busy machine. A story that misses one is
//! repeated with three times the lease; two leaders at once fail it at once.
//!
//! [`measure`] is a benchmark of the same: how long failover takes, compared with the formula.
//!
//! [`election_stories!`]: crate::election_stories

mod instance;
mod measure;
mod run;
mod stories;
mod voters;

use std::{fmt, future::Future, net::SocketAddr, pin::Pin, time::Duration};

use dlock_core::provider::Admin;

#[doc(hidden)]
pub use self::run::{Shared, run};
pub use self::{measure::measure, voters::Voters};

/// A store to elect a leader on.
///
/// All stories of a test binary share one fixture and one runtime; each has its own election.
pub trait Electorate: Sized + Send + Sync + 'static {
    /// The provider of each instance.
    type Provider: Admin;

    /// The lease that stands for 60 s.
    const LEASE: Duration = Duration::from_millis(1500);

    /// Starts the store. If something is missing, panic and say what it is; the story then fails.
    fn start() -> impl Future<Output = Self> + Send;

    /// The address on which the server listens; `None` for a store without a network, whose faults are then injected
    /// between its provider and the election.
    fn server(&self) -> Option<SocketAddr>;

    /// A fresh provider, as a separate process has it: it reaches the server through this address for everything,
    /// wake-ups included, and its calls end within this limit without intervention.
    fn provider(
        &self,
        address: Option<SocketAddr>,
        limit: Duration,
    ) -> impl Future<Output = Self::Provider> + Send;
}

/// One story.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Story {
    /// Its name: the property it shows.
    pub name: &'static str,
    /// Plays it; it panics if the property does not hold.
    pub play: fn(Voters) -> Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl fmt::Debug for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Passes the list of all stories to a macro.
#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_election_story {
    ($callback:ident) => {
        $callback! {
            crashed_leader_is_followed_within_the_bound;
            stopped_leader_is_followed_at_once;
            leader_that_is_cut_off_rides_it_out_or_steps_down_before_a_rival;
            store_that_is_down_for_all_stops_all_work_until_it_is_back;
            refused_renewal_ends_the_leadership_at_once;
            slow_renewal_counts_from_when_it_left;
            leader_resigns_when_another_instance_asks;
        }
    };
}

macro_rules! table {
    ($($name:ident;)*) => {
        /// Every story.
        pub static STORIES: &[Story] = &[$(Story {
            name: stringify!($name),
            play: |voters| Box::pin(stories::$name(voters)),
        }),*];
    };
}

__for_each_election_story!(table);

/// Makes one `#[test]` for each [story](crate::election), named after the story. Use it once in a module, with an
/// [`Electorate`](crate::election::Electorate).
#[macro_export]
macro_rules! election_stories {
    ($fixture:ty) => {
        $crate::__election_stories! { ($) $fixture }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __election_stories {
    (($d:tt) $fixture:ty) => {
        static __ELECTORATE: $crate::election::Shared = $crate::election::Shared::new();

        macro_rules! __dlock_election_stories {
                    ($d($d name:ident;)*) => {
                        $d(
                            #[test]
                            fn $d name() {
                                $crate::election::run::<$fixture>(&__ELECTORATE, stringify!($d name));
                            }
                        )*
                    };
                }

        $crate::__for_each_election_story!(__dlock_election_stories);
    };
}
