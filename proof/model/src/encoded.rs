//! A state as bytes: for a hash that takes one call, and for an order among states.

use std::hash::{Hash, Hasher};

use crate::state::{Phase, Reply, Resource, State, Term, Version};

/// Bytes of the longest encoding.
const ENCODED: usize = 256;

/// One state, encoded. Different states have different encodings.
pub(crate) struct Encoded {
    bytes: [u8; ENCODED],
    length: usize,
}

impl Encoded {
    pub(crate) fn new(state: &State) -> Self {
        let mut encoded = Self {
            bytes: [0; ENCODED],
            length: 0,
        };
        encoded.state(state);
        encoded
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn put(&mut self, byte: u8) {
        self.bytes[self.length] = byte;
        self.length += 1;
    }

    fn version(&mut self, version: Version) {
        self.put(version.uuid << 4 | version.renewals);
    }

    fn state(&mut self, state: &State) {
        let State {
            record,
            terms,
            clients,
            ticket,
            revoke,
            drifts,
            steps,
            forces,
            purges,
            failovers,
            now,
            closed,
            resource,
            violated,
        } = state;
        self.put(record.row as u8);
        self.version(record.version);
        self.put(record.duration);
        self.put(record.expiry.to_le_bytes()[0]);
        self.put(record.token);
        self.put(record.grant);
        for term in terms {
            self.term(term);
        }
        for client in clients {
            self.put(client.tried << 4 | client.renewals);
            self.put(client.copies << 4 | client.crashes);
            self.version(client.seen);
            self.put(client.seen_duration << 4 | client.seen_age);
            self.put(client.floor);
        }
        self.version(*ticket);
        self.put(revoke.left << 4 | revoke.copies);
        self.put(revoke.duplicates << 4 | revoke.by);
        self.version(revoke.version);
        self.put(drifts << 4 | steps);
        self.put(*forces);
        self.put(purges << 4 | failovers);
        self.put(*now);
        self.put(*closed);
        self.resource(resource);
        for byte in violated.to_le_bytes() {
            self.put(byte);
        }
    }

    fn term(&mut self, term: &Term) {
        let Term {
            phase,
            clock,
            between,
            leases,
            giver,
            token,
            grant,
            claim,
            floor,
            acquires,
            releases,
            closing,
            confirmed,
            drawn,
            attempts,
            replies,
        } = term;
        self.put(*phase as u8);
        if *phase == Phase::Unused {
            return;
        }
        self.put(clock << 4 | claim.ground as u8);
        self.put(leases << 2 | u8::from(*between) << 1 | u8::from(*giver));
        self.put(*token);
        self.put(*grant);
        self.version(claim.version);
        self.put(*floor);
        self.put(acquires << 4 | releases);
        self.put(u8::from(*closing));
        self.put(confirmed << 4 | drawn);
        for attempt in attempts {
            self.put(
                attempt.age << 4
                    | attempt.copies << 2
                    | u8::from(attempt.renewed) << 1
                    | u8::from(attempt.lost),
            );
        }
        for reply in replies {
            match *reply {
                Reply::None => self.put(0),
                Reply::Spent => self.put(1),
                Reply::Acquired(token, grant) => {
                    self.put(2);
                    self.put(token);
                    self.put(grant);
                }
                Reply::Held(version, duration) => {
                    self.put(3);
                    self.version(version);
                    self.put(duration);
                }
            }
        }
    }

    fn resource(&mut self, resource: &Resource) {
        for byte in resource.writers.to_le_bytes() {
            self.put(byte);
        }
        self.put(resource.highest);
        self.put(resource.newest);
        if resource.writers != 0 {
            for token in resource.tokens {
                self.put(token);
            }
        }
        for mask in [resource.issued, resource.told] {
            for byte in mask.to_le_bytes() {
                self.put(byte);
            }
        }
    }
}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write(Encoded::new(self).bytes());
    }
}
