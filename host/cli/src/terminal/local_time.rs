//! Times in the local time zone.

use graph_core::time::Timestamp;

/// Renders a time in the local time zone, with its offset from UTC.
pub fn local_time(at: Timestamp) -> String {
    let zoned = i64::try_from(at.0)
        .ok()
        .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())
        .map(|at| at.to_zoned(jiff::tz::TimeZone::system()));
    zoned.map_or_else(|| at.to_string(), |at| at.strftime("%Y-%m-%d %H:%M:%S %:z").to_string())
}
