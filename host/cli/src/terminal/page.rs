//! A page for a browser: one HTML file without scripts, which loads nothing and has a light and a dark theme.

use std::fmt::Write as _;

use graph_core::diagnostic::visible;

const STYLE: &str = "
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; background: #fff; color: #1b1b1b; }
h1 { font-size: 1.4rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0 0 1.5rem; }
dt { color: #666; } dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: 0 0 1.5rem; overflow-x: auto; }
table { border-collapse: collapse; } td, th { text-align: left; padding: .15rem 1rem .15rem 0; } td:last-child { text-align: right; }
@media (prefers-color-scheme: dark) {
  body { background: #161616; color: #ddd; } dt { color: #999; }
  svg { filter: invert(1) hue-rotate(180deg); background: #e9e9e9; }
}
";

/// A page that is being written. Every text is escaped.
#[derive(Debug)]
pub struct Page(String);

impl Page {
    /// Starts a page with this title.
    pub fn new(title: &str) -> Self {
        let title = escaped(title);
        Self(format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
             </head>\n<body>\n"
        ))
    }

    /// Adds a heading of the first level.
    pub fn heading(&mut self, text: &str) {
        let _ = writeln!(self.0, "<h1>{}</h1>", escaped(text));
    }

    /// Adds a list of names and values.
    pub fn facts(&mut self, facts: &[(&str, String)]) {
        self.0.push_str("<dl>\n");
        for (name, text) in facts {
            let _ = writeln!(self.0, "<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(text));
        }
        self.0.push_str("</dl>\n");
    }

    /// Adds a picture that the host has drawn as SVG. Text before its `<svg` element, such as the XML declaration, is dropped.
    pub fn picture(&mut self, svg: &str) {
        let svg = svg.find("<svg").map_or("", |at| &svg[at..]);
        let _ = writeln!(self.0, "<figure>\n{}\n</figure>", svg.trim_end());
    }

    /// Adds a table with these column names.
    pub fn table<const N: usize>(&mut self, names: [&str; N], rows: impl Iterator<Item = [String; N]>) {
        self.0.push_str("<table>\n");
        self.0.push_str(&table_row(names.into_iter(), "th"));
        for row in rows {
            self.0.push_str(&table_row(row.iter().map(String::as_str), "td"));
        }
        self.0.push_str("</table>\n");
    }

    /// Ends the page, and returns its HTML.
    pub fn finish(mut self) -> String {
        self.0.push_str("</body>\n</html>\n");
        self.0
    }
}

fn table_row<'t>(cells: impl Iterator<Item = &'t str>, element: &str) -> String {
    let mut row = String::from("<tr>");
    for cell in cells {
        let _ = write!(row, "<{element}>{}</{element}>", escaped(cell));
    }
    row + "</tr>\n"
}

/// Escapes text for HTML.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '"' => shown.push_str("&quot;"),
            '\'' => shown.push_str("&#39;"),
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_page_is_markup_but_its_own() {
        let mut page = Page::new("</title><script>a()</script>");
        page.heading("<img src=x onerror=a()>");
        page.facts(&[("<b>", "\"'&\u{1b}".to_owned())]);
        page.table(["n"], std::iter::once(["<i>".to_owned()]));
        page.picture("<?xml version=\"1.0\"?>\n<svg></svg>");
        let text = page.finish();
        assert!(
            !text.contains("<script")
                && !text.contains("<img")
                && !text.contains("<b>")
                && !text.contains("<i>")
        );
        assert!(text.contains("&quot;&#39;&amp;\\u{1b}") && text.contains("<figure>\n<svg></svg>"), "{text}");
        assert!(!text.contains("<?xml") && !text.contains("http://") && !text.contains("https://"), "{text}");
    }
}
