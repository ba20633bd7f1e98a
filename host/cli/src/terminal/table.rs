//! Tables for people: as wide as the terminal, with the columns that matter most.

use textwrap::core::display_width;

use crate::terminal::width::one_line;

/// Least width of a cell that is cut, in columns.
const SHORTEST: usize = 8;
/// Columns between two cells.
const BETWEEN: usize = 2;

/// Columns of a table, with the ones that are shortened or dropped if it is wider than the terminal.
#[derive(Clone, Copy, Debug)]
pub struct Columns<const N: usize> {
    /// The headings.
    pub names: [&'static str; N],
    /// Indices of the columns whose cells are cut.
    pub cut: &'static [usize],
    /// Indices of the columns that are dropped, in this order, if cutting is not enough.
    pub dropped: &'static [usize],
    /// Number of columns that are shown, from the first one; `None` for all.
    pub shown: Option<usize>,
}

/// Columns with their widths; `None` for a column that is left out.
#[derive(Clone, Copy, Debug)]
pub struct Layout<const N: usize> {
    names: [&'static str; N],
    widths: [Option<usize>; N],
}

impl<const N: usize> Columns<N> {
    /// Limits the table to its first columns.
    #[must_use]
    pub const fn first(self, shown: usize) -> Self {
        Self { shown: Some(shown), ..self }
    }

    /// Computes the layout for cells of these widths. Without a width of the table, all columns are shown in full.
    pub fn layout(&self, cells: [usize; N], table: Option<usize>) -> Layout<N> {
        let mut widths = [None; N];
        let shown = self.shown.unwrap_or(N);
        for ((width, cell), name) in widths.iter_mut().zip(cells).zip(self.names).take(shown) {
            *width = Some(cell.max(name.len()));
        }
        let mut layout = Layout { names: self.names, widths };
        let Some(most) = table else { return layout };
        let mut dropped = self.dropped.iter();
        loop {
            let over = layout.total().saturating_sub(most);
            if over == 0 {
                return layout;
            }
            let room: usize = self.cut.iter().map(|column| layout.room(*column)).sum();
            if room >= over {
                layout.shrink(self.cut, over);
                return layout;
            }
            let Some(column) = dropped.next() else {
                layout.shrink(self.cut, room);
                return layout;
            };
            layout.widths[*column] = None;
        }
    }
}

impl<const N: usize> Layout<N> {
    fn total(&self) -> usize {
        let shown = self.widths.iter().flatten();
        1 + shown.clone().sum::<usize>() + shown.count().saturating_sub(1) * BETWEEN
    }

    /// Returns the number of columns by which a column can be narrowed.
    fn room(&self, column: usize) -> usize {
        let least = SHORTEST.max(self.names[column].len());
        self.widths[column].map_or(0, |width| width.saturating_sub(least))
    }

    /// Narrows columns by `by` in total, the widest first.
    fn shrink(&mut self, columns: &[usize], by: usize) {
        for _ in 0..by {
            let widest = columns.iter().copied().filter(|column| self.room(*column) > 0);
            let Some(widest) = widest.max_by_key(|column| self.widths[*column]) else { return };
            if let Some(width) = &mut self.widths[widest] {
                *width -= 1;
            }
        }
    }

    /// The line above the rows.
    pub fn header(&self) -> String {
        self.row(&self.names)
    }

    /// A line for a row, its cells padded to the columns' widths.
    pub fn row(&self, cells: &[impl AsRef<str>; N]) -> String {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(self.widths) {
            let Some(width) = width else { continue };
            let cell = one_line(cell.as_ref(), width);
            line.push_str(if line.is_empty() { " " } else { "  " });
            line.push_str(&cell);
            line.extend(std::iter::repeat_n(' ', width.saturating_sub(display_width(&cell))));
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// Raises the widths to those of the cells of a row.
pub fn widest<const N: usize>(widths: &mut [usize; N], cells: &[String; N]) {
    for (width, cell) in widths.iter_mut().zip(cells) {
        *width = (*width).max(display_width(cell));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: Columns<4> =
        Columns { names: ["RUN", "GRAPH", "STATUS", "STARTED"], cut: &[1], dropped: &[3, 2], shown: None };

    #[test]
    fn columns_are_cut_before_others_are_left_out() {
        let row = ["r1", "a/graph/with/a/long/name", "completed", "2026-01-01 10:00:00"];
        let widths = row.map(str::len);
        let shown = |width| {
            let layout = COLUMNS.layout(widths, width);
            format!("{}\n{}", layout.header(), layout.row(&row))
        };
        assert_eq!(
            shown(None),
            " RUN  GRAPH                     STATUS     STARTED\n r1   a/graph/with/a/long/name  completed  2026-01-01 10:00:00"
        );
        assert_eq!(
            shown(Some(55)),
            " RUN  GRAPH              STATUS     STARTED\n r1   a/graph/with/a/l…  completed  2026-01-01 10:00:00"
        );
        assert_eq!(
            shown(Some(40)),
            " RUN  GRAPH                     STATUS\n r1   a/graph/with/a/long/na…  completed"
                .replace("GRAPH                     ", "GRAPH                    ")
        );
        assert_eq!(shown(Some(20)), " RUN  GRAPH\n r1   a/graph/with/…");
        let two = COLUMNS.first(2).layout(widths, Some(55));
        assert_eq!(two.row(&row), " r1   a/graph/with/a/long/name");
    }
}
