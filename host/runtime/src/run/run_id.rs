//! Ids of runs: the only random value in a run.

use graph_core::time::Timestamp;

use crate::error::{Error, Result};

/// Makes a fresh id: the second in UTC and 30 random bits, so that ids sort by time and a few characters name one,
/// `20300131-120000-k3f9qx`.
pub fn fresh(at: Timestamp) -> Result<String> {
    let mut bytes = [0; 6];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::storage(format!("the system gives no random bytes for a run id: {error}")).caused_by(error)
    })?;
    Ok(compose(at, bytes))
}

fn compose(at: Timestamp, random: [u8; 6]) -> String {
    // Letters and digits that are easily confused are left out.
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let time = i64::try_from(at.0)
        .ok()
        .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())
        .unwrap_or_default();
    let suffix: String = random.iter().map(|byte| char::from(LETTERS[usize::from(byte & 31)])).collect();
    format!("{}-{suffix}", time.strftime("%Y%m%d-%H%M%S"))
}

/// Checks an id that the user chose.
pub fn check(id: &str) -> Result<String, String> {
    if id.starts_with('-') {
        return Err("a run id does not start with `-`: a command would take it for an option".to_owned());
    }
    graph_core::id::check_run_id(id).map(|()| id.to_owned()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn ids_sort_by_time_and_are_valid() {
        let earlier = compose("2030-01-31T12:00:00Z".parse().unwrap(), [31; 6]);
        let later = compose("2030-01-31T12:00:01Z".parse().unwrap(), [0; 6]);
        assert_eq!(earlier, "20300131-120000-999999");
        assert!(earlier < later);
        assert_eq!(check(&fresh(Timestamp(0)).unwrap()).unwrap().len(), 22);
        for bad in ["", "-a", "@last", "a/b", "a b", "../x", "a.b"] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }
}
