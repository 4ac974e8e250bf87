//! A1 to A7, R1 to R3, L1 to L3, N1 and N2, of a store whose clock decides nothing.

/// The record under the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are those of the protocol")]
#[expect(clippy::exhaustive_structs, reason = "read in traces")]
pub struct Record {
    pub uuid: u8,
    pub renewals: u8,
    pub released: bool,
    pub token: u8,
    /// A refused try has left its mark. Here every try leaves one.
    pub wanted: bool,
}

/// A client's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are those of the protocol")]
#[expect(clippy::exhaustive_enums, reason = "read in traces")]
pub enum Request {
    Acquire { new: u8, prev: Option<(u8, u8)> },
    Renew { uuid: u8, n: u8 },
    Release { uuid: u8 },
}

/// An answer without a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the tables have these")]
pub enum Verdict {
    /// A2.
    Ours,
    /// A3.
    Spent,
    /// A7.
    Held,
    /// R2.
    Renewed,
    /// R3.
    Lost,
    /// L2.
    Released,
    /// L3.
    NotHeld,
}

/// The outcome of the rules for a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "it is one of these two")]
pub enum Decision {
    /// This record is to replace it.
    Write(Record),
    /// The answer, without a write.
    Answer(Verdict),
}

impl Verdict {
    /// Its place in a set of them.
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl Request {
    /// The first rule that fits.
    #[must_use]
    pub fn meets(self, found: Option<Record>) -> Decision {
        use Decision::{Answer, Write};
        match (self, found) {
            (Self::Acquire { new, .. }, None) => Write(Record::granted(new, 1)),
            (Self::Acquire { new, prev }, Some(record)) => {
                let version = (record.uuid, record.renewals);
                if record.uuid == new {
                    Answer(if record.released {
                        Verdict::Spent
                    } else {
                        Verdict::Ours
                    })
                } else if record.released {
                    Write(Record::granted(new, record.token + 1))
                } else if prev == Some(version) {
                    let wanted = record.wanted;
                    let granted = Record::granted(new, record.token + 1);
                    Write(Record { wanted, ..granted })
                } else if !record.wanted {
                    let wanted = true;
                    Write(Record { wanted, ..record })
                } else {
                    Answer(Verdict::Held)
                }
            }
            (Self::Renew { uuid, n }, Some(record)) if record.uuid == uuid && !record.released => {
                if record.renewals < n {
                    Write(Record {
                        renewals: n,
                        ..record
                    })
                } else {
                    Answer(Verdict::Renewed)
                }
            }
            (Self::Renew { .. }, _) => Answer(Verdict::Lost),
            (Self::Release { uuid }, Some(record)) if record.uuid == uuid => {
                if record.released {
                    Answer(Verdict::Released)
                } else {
                    Write(Record {
                        released: true,
                        ..record
                    })
                }
            }
            (Self::Release { .. }, _) => Answer(Verdict::NotHeld),
        }
    }
}

impl Record {
    const fn granted(uuid: u8, token: u8) -> Self {
        Self {
            uuid,
            renewals: 0,
            released: false,
            token,
            wanted: false,
        }
    }
}
