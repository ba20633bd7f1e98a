//! The text from which diagnostics show snippets.

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

/// Length of the longest line that is shown as a whole, in bytes.
const WIDEST: usize = 400;
/// Number of bytes of a longer line that are shown before and after a marked place.
const AROUND: usize = 60;

/// A document with its name. Only the part around the marked position of a very wide line is shown: a document of one line of many
/// megabytes would fill the screen, and the layout supports widths up to 65535.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) text: String,
}

impl SourceCode for Source {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        lines_before: usize,
        lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let whole = self.text.read_span(span, lines_before, lines_after)?;
        let too_wide = whole.data().split(|byte| *byte == b'\n').any(|line| line.len() > WIDEST);
        let exact = lines_before == 0 && lines_after == 0;
        if exact || !too_wide {
            let at = whole.span().offset();
            let line_start = self.text[..at].rfind('\n').map_or(0, |before| before + 1);
            return Ok(Box::new(MietteSpanContents::new_named(
                self.name.clone(),
                whole.data(),
                *whole.span(),
                whole.line(),
                // The column is in characters, as everywhere else.
                self.text[line_start..at].chars().count(),
                whole.line_count(),
            )));
        }
        let at = self.text.floor_char_boundary(span.offset());
        let line_start = self.text[..at].rfind('\n').map_or(0, |before| before + 1);
        let line_end = self.text[at..].find('\n').map_or(self.text.len(), |after| at + after);
        let start = self.text.ceil_char_boundary(at.saturating_sub(AROUND).max(line_start));
        let marked = at.saturating_add(span.len().min(AROUND));
        let end = self.text.floor_char_boundary(marked.saturating_add(AROUND).min(line_end)).max(start);
        let line = self.text[..at].bytes().filter(|byte| *byte == b'\n').count();
        let column = self.text[line_start..start].chars().count();
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            &self.text.as_bytes()[start..end],
            (start, end - start).into(),
            line,
            column,
            1,
        )))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_wide_line_is_shown_around_the_marked_place() {
        let text = format!("a: 1\nb: [{}, here, {}]\n", "é".repeat(50_000), "y".repeat(50_000));
        let at = text.find("here").unwrap();
        let source = Source { name: "x.yaml".to_owned(), text };
        let shown = source.read_span(&(at, 4).into(), 1, 1).unwrap();
        let line = std::str::from_utf8(shown.data()).unwrap();
        assert!(line.contains(", here, y") && line.len() < 200, "{line}");
        assert_eq!(shown.line(), 1);
        let exact = source.read_span(&(at, 4).into(), 0, 0).unwrap();
        assert_eq!((exact.line(), exact.column()), (1, 50_006));
    }

    #[test]
    fn other_lines_are_shown_whole() {
        let source = Source { name: "x.yaml".to_owned(), text: "one\ntwo\nthree\nfour\n".to_owned() };
        let shown = source.read_span(&(4, 3).into(), 1, 1).unwrap();
        assert_eq!(shown.data(), b"one\ntwo\nthree\n");
        assert_eq!(shown.name(), Some("x.yaml"));
    }
}
