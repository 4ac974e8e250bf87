//! The beliefs of handlers, compared with the rows of the store in the same instant (I6, J2).

use dlock_tasks::{ClaimKey, Context};

use super::{Life, State};

impl State {
    pub(super) fn look(&mut self) {
        let mut wrong = Vec::new();
        let mut looks = 0;
        for (key, context) in self.running.values() {
            let Some(held) = self.attempts.get(key) else {
                continue;
            };
            let of = &self.processes[held.process.0];
            if of.life == Life::Dead {
                continue;
            }
            looks += 1;
            wrong.extend(self.wrong(key, context));
            if let Some(limit) = of.plan.timeout
                && held.began.elapsed() > limit
            {
                wrong.push((
                    "J3",
                    format!("task {}: a handler continues after its time", key.id),
                ));
            }
        }
        self.figures.looks += looks;
        for (rule, what) in wrong {
            self.complain(rule, what);
        }
    }

    /// The rule that a running handler breaks, if it does.
    fn wrong(&self, key: &ClaimKey, context: &Context) -> Option<(&'static str, String)> {
        let valid = context.is_valid();
        let (id, token) = (key.id, key.token);
        self.store.call(|table, now| {
            let row = table.rows.get(&id)?;
            let newest = row.term.as_ref()?;
            if newest.record.token > token {
                // Another claim has the task, or has had it.
                let what = format!(
                    "task {id}, token {token}: {} was granted",
                    newest.record.token
                );
                return Some(if valid { ("I6", what) } else { ("J2", what) });
            }
            let runs = row.is_of(key) && row.held().is_some() && row.done.is_none();
            (valid && runs && newest.expiry <= now).then(|| {
                let what = format!("task {id}, token {token} is believed in beyond its lease");
                ("I6", what)
            })
        })
    }
}
