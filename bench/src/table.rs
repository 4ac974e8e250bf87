//! Markdown tables that are readable as plain text.

use std::fmt::Write as _;

/// A table under construction.
pub(crate) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Self {
        Self {
            head: head.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Words to the left, numbers to the right.
    pub(crate) fn render(&self, words: usize) -> String {
        let columns = self.head.len();
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let width = |column: usize| {
            let cells = lines().filter_map(|line| line.get(column));
            cells
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
                .max(3)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for (number, line) in lines().enumerate() {
            for (column, width) in widths.iter().enumerate() {
                let cell = line.get(column).map_or("", String::as_str);
                let _fits = if column < words {
                    write!(text, "| {cell:<width$} ")
                } else {
                    write!(text, "| {cell:>width$} ")
                };
            }
            text.push_str("|\n");
            if number == 0 {
                for (column, width) in widths.iter().enumerate() {
                    let dashes = "-".repeat(width - usize::from(column >= words));
                    let right = if column < words { "" } else { ":" };
                    text.push_str(&format!("| {dashes}{right} "));
                }
                text.push_str("|\n");
            }
        }
        text
    }
}

/// A number for people: three significant digits.
pub(crate) fn number(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if value.is_infinite() => "∞".to_owned(),
        Some(value) if value.is_nan() => "–".to_owned(),
        Some(value) if value >= 10_000.0 => count(value),
        Some(value) if value >= 100.0 => format!("{value:.0}"),
        Some(value) if value >= 10.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.2}"),
    }
}

/// A whole number, in groups of three digits.
pub(crate) fn count(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_the_digits_that_count() {
        let text = |value| number(Some(value));
        assert_eq!(text(1_234_567.0), "1,234,567");
        assert_eq!(text(9_999.4), "9999");
        assert_eq!(text(12.34), "12.3");
        assert_eq!(text(1.234), "1.23");
        assert_eq!(text(f64::INFINITY), "∞");
        assert_eq!(number(None), "–");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(["what", "us"]);
        table.row(["acquire", "1.0"]);
        assert_eq!(
            table.render(1),
            "| what    |  us |\n| ------- | --: |\n| acquire | 1.0 |\n"
        );
    }
}
