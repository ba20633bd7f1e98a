//! Filters, groups and sorts rows, and shows them as a table.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use graph_sdk::prelude::*;

/// The rows and what to do with them, in this order.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// The rows.
    rows: Vec<Map<String, Value>>,
    /// Keeps the rows that fit.
    keep: Option<Keep>,
    /// Makes one row of all that have the same value in this column: the value, and `count`.
    group_by: Option<String>,
    /// With `group_by`: adds this column up.
    sum: Option<String>,
    /// With `group_by`: lists this column's values.
    list: Option<String>,
    /// With `group_by`: keeps groups of so many rows or more.
    #[serde(default)]
    groups_of: u64,
    /// Sorts by this column, the largest first, then by the others.
    largest_first: Option<String>,
    /// Keeps so many rows from the top.
    limit: Option<usize>,
    /// The columns of the table as text; those of the first row if this is left out.
    #[serde(default)]
    columns: Vec<String>,
}

/// Which rows to keep.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Keep {
    /// The column.
    column: String,
    /// Its text has this in it.
    contains: Option<String>,
    /// It is a number of so much or more.
    at_least: Option<f64>,
}

/// What is left.
#[derive(Serialize, JsonSchema)]
struct Table {
    /// The rows.
    rows: Vec<Map<String, Value>>,
    /// How many there are.
    count: u64,
    /// The same as text.
    text: String,
}

graph_sdk::node! { summary: "Filters, groups and sorts rows, and shows them as a table.", run }

fn run(params: Params, _ctx: &Context) -> Result<Table, Failure> {
    let mut rows = params.rows;
    if let Some(keep) = &params.keep {
        rows.retain(|row| fits(row.get(&keep.column), keep));
    }
    if let Some(column) = &params.group_by {
        rows = grouped(rows, column, params.sum.as_deref(), params.list.as_deref());
        rows.retain(|row| row["count"].as_u64() >= Some(params.groups_of));
    }
    if let Some(column) = &params.largest_first {
        rows.sort_by(|a, b| compare(b.get(column), a.get(column)).then_with(|| by_text(a).cmp(&by_text(b))));
    }
    rows.truncate(params.limit.unwrap_or(usize::MAX));
    let columns = match rows.first() {
        Some(first) if params.columns.is_empty() => first.keys().cloned().collect(),
        _ => params.columns,
    };
    Ok(Table { text: text(&rows, &columns), count: rows.len() as u64, rows })
}

fn fits(value: Option<&Value>, keep: &Keep) -> bool {
    let contains = |text: &String| value.is_some_and(|value| plain(value).contains(text));
    let reaches = |least: &f64| value.and_then(Value::as_f64).is_some_and(|value| value >= *least);
    keep.contains.as_ref().is_none_or(contains) && keep.at_least.as_ref().is_none_or(reaches)
}

fn grouped(
    rows: Vec<Map<String, Value>>,
    column: &str,
    sum: Option<&str>,
    list: Option<&str>,
) -> Vec<Map<String, Value>> {
    let mut groups: BTreeMap<String, Vec<Map<String, Value>>> = BTreeMap::new();
    for row in rows {
        groups.entry(row.get(column).map(plain).unwrap_or_default()).or_default().push(row);
    }
    groups
        .into_iter()
        .map(|(value, rows)| {
            let mut group = Map::new();
            group.insert(column.to_owned(), Value::from(value));
            group.insert("count".to_owned(), Value::from(rows.len()));
            if let Some(sum) = sum {
                let total: i64 = rows.iter().filter_map(|row| row.get(sum)?.as_i64()).sum();
                group.insert(sum.to_owned(), Value::from(total));
            }
            if let Some(list) = list {
                group.insert(list.to_owned(), rows.iter().filter_map(|row| row.get(list).cloned()).collect());
            }
            group
        })
        .collect()
}

fn compare(one: Option<&Value>, two: Option<&Value>) -> Ordering {
    match (one.and_then(Value::as_f64), two.and_then(Value::as_f64)) {
        (Some(one), Some(two)) => one.total_cmp(&two),
        (one, two) if one.is_some() != two.is_some() => one.is_some().cmp(&two.is_some()),
        _ => one.map(plain).cmp(&two.map(plain)),
    }
}

fn by_text(row: &Map<String, Value>) -> String {
    row.values().map(plain).collect::<Vec<_>>().join("\t")
}

/// A value as it stands in a table.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn text(rows: &[Map<String, Value>], columns: &[String]) -> String {
    let cell = |row: &Map<String, Value>, column: &String| row.get(column).map(plain).unwrap_or_default();
    let width = |text: &str| text.chars().count();
    let widths: Vec<usize> = columns
        .iter()
        .map(|column| rows.iter().map(|row| width(&cell(row, column))).max().unwrap_or(0).max(width(column)))
        .collect();
    let line = |cells: Vec<String>| {
        let cells: Vec<_> = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    let mut text = line(columns.to_vec());
    for row in rows {
        text.push_str(&line(columns.iter().map(|column| cell(row, column)).collect()));
    }
    text
}
