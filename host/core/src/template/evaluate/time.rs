//! The pipe `time`: times as text.

use jiff::tz::{Offset, TimeZone};
use serde_json::Value;

use super::super::expression::Mistake;
use super::shown;
use crate::work::rates::{BYTE, CASE_BYTE};
use crate::work::size::VALUE;
use crate::work::{FuelExhausted, Meter};

/// Largest length of a format, in bytes.
const MAX_FORMAT: usize = 256;
/// Largest growth of a directive, such as `%F`, per byte of the format.
const GROWTH: u64 = 6;
/// The first second after the year 9999.
const END: f64 = 253_402_300_800.0;

/// The reason why a value has no text as a time.
pub(super) enum TimeError {
    Exhausted(FuelExhausted),
    Unsuitable(String),
}

/// Checks the arguments of the pipe: a format that can be written, and an offset from UTC.
pub(in crate::template) fn check(given: &[(usize, Value)]) -> Result<(), Mistake> {
    if let Some((at, Value::String(format))) = given.first() {
        let message = if format.len() > MAX_FORMAT {
            Some(format!("the format has more than {MAX_FORMAT} bytes"))
        } else {
            let zero = jiff::Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
            let unknown = written(format, &zero).err();
            unknown.map(|directive| {
                format!("the format cannot be used: there is no directive `{}`", shown(&directive))
            })
        };
        if let Some(message) = message {
            return Err(Mistake::new(
                *at,
                message,
                "such as `time('%Y-%m-%d %H:%M')`; the reference lists the directives",
            ));
        }
    }
    match given.get(1) {
        Some((at, Value::String(offset))) if zone(offset).is_none() => Err(Mistake::new(
            *at,
            format!("`{}` is not an offset from UTC", shown(offset)),
            "such as `'+02:00'` or `'UTC'`; names of zones change with laws, and their times are computed in a node",
        )),
        _ => Ok(()),
    }
}

/// Writes a time: text in RFC 3339, or a number of seconds since 1970. Without a format, as RFC 3339 in UTC with milliseconds.
pub(super) fn format(
    value: &Value,
    format: Option<&str>,
    offset: Option<&str>,
    meter: &Meter,
) -> Result<Value, TimeError> {
    let charge = |amount| meter.charge(amount).map_err(TimeError::Exhausted);
    charge(VALUE)?;
    let time: crate::time::Timestamp = match value {
        Value::String(text) => {
            charge((text.len() as u64).saturating_mul(CASE_BYTE))?;
            let unsuitable = || TimeError::Unsuitable(format!("the text `{}`", shown(text)));
            text.parse().map_err(|_| unsuitable())?
        }
        other => {
            let seconds = other.as_f64().filter(|seconds| (0.0..END).contains(seconds));
            let seconds = seconds
                .ok_or_else(|| TimeError::Unsuitable("a number before 1970 or after 9999".to_owned()))?;
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is in the range above"
            )]
            crate::time::Timestamp((seconds * 1000.0).round() as u64)
        }
    };
    let Some(format) = format else {
        charge(32 * BYTE)?;
        return Ok(time.to_string().into());
    };
    charge((format.len() as u64).saturating_mul(GROWTH * BYTE))?;
    let unsuitable = || TimeError::Unsuitable("a time after 9999".to_owned());
    let at = i64::try_from(time.0)
        .ok()
        .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())
        .ok_or_else(unsuitable)?;
    let zoned = at.to_zoned(offset.and_then(zone).unwrap_or(TimeZone::UTC));
    written(format, &zoned).map(Value::from).map_err(|_| unsuitable())
}

/// Writes a time by a format of `strftime`. The error is a directive that is not known.
fn written(format: &str, at: &jiff::Zoned) -> Result<String, String> {
    let mut text = String::with_capacity(format.len());
    let mut rest = format.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        let directive = rest.next();
        let part = match directive {
            Some('%') => "%".to_owned(),
            Some('Y') => format!("{:04}", at.year()),
            Some('y') => format!("{:02}", at.year() % 100),
            Some('m') => format!("{:02}", at.month()),
            Some('d') => format!("{:02}", at.day()),
            Some('e') => at.day().to_string(),
            Some('j') => format!("{:03}", at.day_of_year()),
            Some('H') => format!("{:02}", at.hour()),
            Some('I') => format!("{:02}", (at.hour() + 11) % 12 + 1),
            Some('M') => format!("{:02}", at.minute()),
            Some('S') => format!("{:02}", at.second()),
            Some('f') => format!("{:03}", at.millisecond()),
            Some('p') => if at.hour() < 12 { "AM" } else { "PM" }.to_owned(),
            Some('A') => day_name(at).to_owned(),
            Some('a') => day_name(at)[..3].to_owned(),
            Some('B') => month_name(at).to_owned(),
            Some('b') => month_name(at)[..3].to_owned(),
            Some('u') => at.weekday().to_monday_one_offset().to_string(),
            Some('F') => written("%Y-%m-%d", at)?,
            Some('T') => written("%H:%M:%S", at)?,
            Some('s') => at.timestamp().as_second().to_string(),
            Some('z') => offset_text(at, ""),
            Some(':') if rest.as_str().starts_with('z') => {
                rest.next();
                offset_text(at, ":")
            }
            other => return Err(format!("%{}", other.map_or(String::new(), |c| c.to_string()))),
        };
        text.push_str(&part);
    }
    Ok(text)
}

fn day_name(at: &jiff::Zoned) -> &'static str {
    const NAMES: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
    let day = usize::try_from(at.weekday().to_sunday_zero_offset()).unwrap_or_default();
    NAMES.get(day).copied().unwrap_or_default()
}

fn month_name(at: &jiff::Zoned) -> &'static str {
    const NAMES: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let month = usize::try_from(at.month()).unwrap_or(1);
    NAMES.get(month - 1).copied().unwrap_or_default()
}

fn offset_text(at: &jiff::Zoned, between: &str) -> String {
    let seconds = at.offset().seconds();
    let (sign, minutes) = (if seconds < 0 { '-' } else { '+' }, seconds.unsigned_abs() / 60);
    format!("{sign}{:02}{between}{:02}", minutes / 60, minutes % 60)
}

/// Returns the zone of an offset from UTC: `UTC`, `Z`, `+02:00` or `-0530`.
fn zone(offset: &str) -> Option<TimeZone> {
    if matches!(offset, "UTC" | "Z") {
        return Some(TimeZone::UTC);
    }
    let (sign, rest) = match offset.as_bytes().first()? {
        b'+' => (1, &offset[1..]),
        b'-' => (-1, &offset[1..]),
        _ => return None,
    };
    let digits = rest.replacen(':', "", 1);
    if digits.len() != 4 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes) = (digits[..2].parse::<i32>().ok()?, digits[2..].parse::<i32>().ok()?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok().map(TimeZone::fixed)
}
