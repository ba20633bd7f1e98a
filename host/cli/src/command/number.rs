//! Numbers on the command line.

/// Reads a whole number from 1.
pub(super) fn from_one<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    read(text, 1)
}

/// Reads a whole number from 0.
pub(super) fn from_zero<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    read(text, 0)
}

fn read<N: TryFrom<u64>>(text: &str, least: u64) -> Result<N, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse::<u64>().ok().filter(|_| is_number);
    match number {
        Some(number) if number >= least => {
            N::try_from(number).map_err(|_| "it is larger than what can be counted".to_owned())
        }
        None if is_number => Err("it is larger than what can be counted".to_owned()),
        _ => Err(format!("a whole number from {least} is needed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_whole_and_in_range() {
        assert_eq!(from_one::<u64>("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(from_zero::<usize>("0"), Ok(0));
        for bad in ["0", "-1", "", "x", "1.0", "+1", " 1"] {
            assert_eq!(from_one::<u64>(bad), Err("a whole number from 1 is needed".to_owned()), "{bad}");
        }
        assert!(from_one::<u32>("4294967296").is_err_and(|error| error.contains("larger")));
        assert!(from_one::<u64>("18446744073709551616").is_err_and(|error| error.contains("larger")));
    }
}
