//! Points in time and spans of time, as values: nothing here reads a clock.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time: milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Returns the point in time `span` later; it saturates.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
    }

    /// Returns the span from `earlier` to this point; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Timestamp {
    /// Writes RFC 3339 in UTC with milliseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = i64::try_from(self.0).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
        match at {
            Some(at) => write!(f, "{at:.3}"),
            None => write!(f, "{} ms", self.0),
        }
    }
}

/// A text that is not a point in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a time in RFC 3339, such as 2030-01-31T12:00:00Z or 2030-01-31")]
pub struct ParseTimestampError {
    text: String,
}

impl std::str::FromStr for Timestamp {
    type Err = ParseTimestampError;

    /// Reads RFC 3339, or a date, which means its first moment in UTC.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseTimestampError { text: text.to_owned() };
        let at = match text.parse::<jiff::Timestamp>() {
            Ok(at) => at,
            Err(_) => text
                .parse::<jiff::civil::Date>()
                .ok()
                .and_then(|date| date.to_zoned(jiff::tz::TimeZone::UTC).ok())
                .map(|zoned| zoned.timestamp())
                .ok_or_else(error)?,
        };
        u64::try_from(at.as_millisecond()).map(Self).map_err(|_| error())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn text_form_round_trips() {
        let at: Timestamp = "2030-01-31T12:00:00.250Z".parse().unwrap();
        assert_eq!(at.to_string(), "2030-01-31T12:00:00.250Z");
        assert_eq!("2030-01-31".parse::<Timestamp>().unwrap().to_string(), "2030-01-31T00:00:00.000Z");
        assert!("yesterday".parse::<Timestamp>().is_err());
    }
}
