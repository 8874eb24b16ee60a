//! Text in columns.

use std::fmt::Write;

/// Columns as wide as their widest cell, two spaces apart; the last one is not padded.
#[derive(Debug, Default)]
pub(crate) struct TextTable {
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.rows.push(cells.map(String::from).into());
    }

    /// The same with any number of cells.
    pub(crate) fn push(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The text, each line indented by two spaces.
    pub(crate) fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(|column| self.width(column)).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                let _ = write!(line, "  {cell:<width$}");
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter(|row| row.len() > column + 1);
        cells.map(|row| row[column].chars().count()).max().unwrap_or(0)
    }
}

/// Columns of lines that are written one after the other, before the last is known.
#[derive(Clone, Debug)]
pub(crate) struct Columns<const N: usize> {
    widths: [usize; N],
}

impl<const N: usize> Columns<N> {
    /// As wide as the heading.
    pub(crate) fn new(heading: [&str; N]) -> Self {
        Columns { widths: heading.map(|cell| cell.chars().count()) }
    }

    /// A column is wide enough for this cell.
    pub(crate) fn at_least(mut self, column: usize, cell: &str) -> Self {
        self.widths[column] = self.widths[column].max(cell.chars().count());
        self
    }

    /// A line in the form of [`TextTable::text`].
    pub(crate) fn line(&self, cells: [&str; N]) -> String {
        let padded = cells.iter().zip(&self.widths).map(|(cell, width)| format!("  {cell:<width$}"));
        format!("{}\n", padded.collect::<String>().trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stand_under_their_heading() {
        let columns = Columns::new(["a", "name", "x"]).at_least(0, "bcd");
        assert_eq!(columns.line(["a", "name", "x"]), "  a    name  x\n");
        assert_eq!(columns.line(["bcd", "e", ""]), "  bcd  e\n");
    }

    #[test]
    fn columns_line_up_and_lines_have_no_tail() {
        let mut table = TextTable::default();
        table.row(["a", "long name", "x"]);
        table.row(["bcd", "e", ""]);
        assert_eq!(table.text(), "  a    long name  x\n  bcd  e\n");
    }
}
