//! Which names are meant: `*` stands for any characters, `?` for one, and `\` takes the next one
//! literally.

/// A pattern of names.
pub(super) struct Pattern {
    /// The beginning of every such name.
    start: String,
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Any,
    One,
    Letter(char),
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        let mut letters = text.chars();
        let mut pieces = Vec::new();
        while let Some(letter) = letters.next() {
            pieces.push(match letter {
                '*' => Piece::Any,
                '?' => Piece::One,
                '\\' => Piece::Letter(letters.next().unwrap_or('\\')),
                letter => Piece::Letter(letter),
            });
        }
        let start = pieces.iter().map_while(|piece| match piece {
            Piece::Letter(letter) => Some(*letter),
            Piece::Any | Piece::One => None,
        });
        Self {
            start: start.collect(),
            pieces,
        }
    }

    pub(super) fn start(&self) -> &str {
        &self.start
    }

    /// Backtracks to the last `*` only: its match can always grow instead of an earlier one's.
    pub(super) fn matches(&self, name: &str) -> bool {
        let letters: Vec<char> = name.chars().collect();
        let (mut piece, mut letter) = (0, 0);
        // The position behind the last `*`, and the first letter that it does not stand for.
        let mut back: Option<(usize, usize)> = None;
        while letter < letters.len() {
            match self.pieces.get(piece) {
                Some(Piece::Any) => {
                    piece += 1;
                    back = Some((piece, letter));
                }
                Some(Piece::One) => (piece, letter) = (piece + 1, letter + 1),
                Some(Piece::Letter(wanted)) if *wanted == letters[letter] => {
                    (piece, letter) = (piece + 1, letter + 1);
                }
                _ => match &mut back {
                    Some((behind, from)) => {
                        *from += 1;
                        (piece, letter) = (*behind, *from);
                    }
                    None => return false,
                },
            }
        }
        self.pieces[piece..].iter().all(|rest| *rest == Piece::Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_question_marks_and_backslashes() {
        for (pattern, start, fits, others) in [
            ("*", "", &["", "a", "a/b"][..], &[][..]),
            ("job", "job", &["job"], &["", "jo", "jobs", "a job"]),
            ("job-*", "job-", &["job-", "job-7"], &["job", "my job-7"]),
            ("a?c", "a", &["abc", "aüc"], &["ac", "abbc"]),
            (
                "*-eu-*-1",
                "",
                &["x-eu-y-1", "x-eu--1-1"],
                &["x-eu-1", "x-eu-y-2"],
            ),
            (r"what\?\*", "what?*", &["what?*"], &["whats", "what?"]),
            (r"a\", r"a\", &[r"a\"], &["a"]),
            ("a**b", "a", &["ab", "axb"], &["a", "b"]),
        ] {
            let parsed = Pattern::new(pattern);
            assert_eq!(parsed.start(), start, "{pattern}");
            for name in fits {
                assert!(parsed.matches(name), "{pattern} {name}");
            }
            for name in others {
                assert!(!parsed.matches(name), "{pattern} {name}");
            }
        }
    }
}
