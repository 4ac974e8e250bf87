//! Numbers of runs that add up.

use std::{collections::BTreeMap, time::Duration};

/// A figure of one run, to which those of others are added.
pub(crate) trait Add {
    fn add(&mut self, more: Self);
}

impl Add for u64 {
    fn add(&mut self, more: Self) {
        *self += more;
    }
}

impl Add for Duration {
    fn add(&mut self, more: Self) {
        *self += more;
    }
}

impl<K: Ord> Add for BTreeMap<K, u64> {
    fn add(&mut self, more: Self) {
        for (what, times) in more {
            *self.entry(what).or_default() += times;
        }
    }
}

/// A struct of figures, and how those of another run are added.
macro_rules! figures {
    ($(#[$attribute:meta])* pub struct $name:ident { $($(#[$doc:meta])* pub $figure:ident: $type:ty,)* }) => {
        $(#[$attribute])*
        pub struct $name { $($(#[$doc])* pub $figure: $type,)* }

        impl std::ops::AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                $($crate::figures::Add::add(&mut self.$figure, other.$figure);)*
            }
        }
    };
}

pub(crate) use figures;
