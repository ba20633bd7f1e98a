//! numfmt builtin: numbers to and from what people read, as the GNU tool
//! computes them, with its numbers of 64 bits.

use async_trait::async_trait;
use bigdecimal::{BigDecimal, RoundingMode, Signed, Zero};

use super::arg_parser::OptArg;
use super::generated::format::num_format::quotient;
use super::limits::{NUMFMT_MAX_OUTPUT_BYTES as MAX_OUTPUT_BYTES, cap_exceeded};
use super::{Builtin, Context};
use crate::error::Result;
use crate::interpreter::ExecResult;

/// numfmt command - convert numbers from/to human-readable strings.
pub struct Numfmt;

#[derive(Clone, Copy, PartialEq)]
enum Scale {
    None,
    Auto,
    Si,
    Iec,
    IecI,
}

impl Scale {
    fn base(self) -> u32 {
        if matches!(self, Self::Iec | Self::IecI) { 1024 } else { 1000 }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Invalid {
    Abort,
    Fail,
    Warn,
    Ignore,
}

struct Options {
    from: Scale,
    to: Scale,
    from_unit: u64,
    to_unit: u64,
    round: &'static str,
    suffix: Option<String>,
    /// To the left if it is negative.
    padding: i64,
    zero_padding: usize,
    auto_padding: bool,
    prefix: String,
    postfix: String,
    precision: Option<usize>,
    fields: Vec<(usize, usize)>,
    delimiter: Option<char>,
    header: usize,
    invalid: Invalid,
    zero: bool,
}

/// The digits that the GNU tool converts at most, and prints at most without a unit.
const MOST_DIGITS: usize = 27;
const MOST_UNSCALED: i64 = 18;
const UNITS: &str = "KMGTPEZY";

/// A value of a list, by any beginning that only it has.
fn choice<T: Copy>(
    option: &str,
    value: &str,
    choices: &[(&'static str, T)],
) -> std::result::Result<T, String> {
    let mut begins = choices.iter().filter(|(name, _)| name.starts_with(value));
    if let Some((_, exact)) = choices.iter().find(|(name, _)| *name == value) {
        return Ok(*exact);
    }
    match (begins.next(), begins.next()) {
        (Some((_, only)), None) => Ok(*only),
        _ => Err(format!("numfmt: invalid argument '{value}' for '--{option}'\n")),
    }
}

fn unit(value: &str) -> std::result::Result<u64, String> {
    let fail = || format!("numfmt: invalid unit size: '{value}'\n");
    let (value, base) = match value.strip_suffix('i') {
        Some(rest) => (rest, 1024_u64),
        None => (value, 1000),
    };
    let (digits, power) = match value.chars().last().and_then(|c| UNITS.find(c)) {
        Some(at) => (&value[..value.len() - 1], at as u32 + 1),
        None if base == 1024 => return Err(fail()),
        None => (value, 0),
    };
    let number: u64 = if digits.is_empty() && power > 0 { 1 } else { digits.parse().map_err(|_| fail())? };
    base.checked_pow(power)
        .and_then(|factor| factor.checked_mul(number))
        .filter(|size| *size > 0)
        .ok_or_else(fail)
}

fn fields(value: &str) -> std::result::Result<Vec<(usize, usize)>, String> {
    let fail = || format!("numfmt: invalid field value '{value}'\n");
    let number = |text: &str, default| match text {
        "" => Ok(default),
        text => text.parse().ok().filter(|n| *n > 0).ok_or_else(fail),
    };
    value
        .split(',')
        .map(|part| match part.split_once('-') {
            Some((from, to)) => Ok((number(from, 1)?, number(to, usize::MAX)?)),
            None if part.is_empty() => Err(fail()),
            None => number(part, 0).map(|n| (n, n)),
        })
        .map(|range| range.and_then(|(from, to)| if from <= to { Ok((from, to)) } else { Err(fail()) }))
        .collect()
}

/// `%[0]['][-][N][.][N]f` with what is before and after it.
fn format(text: &str, options: &mut Options) -> std::result::Result<(), String> {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        match (bytes.get(at), bytes.get(at + 1)) {
            (None, _) => return Err(format!("numfmt: format '{text}' has no % directive\n")),
            (Some(b'%'), Some(b'%')) => at += 2,
            (Some(b'%'), _) => break,
            _ => at += 1,
        }
    }
    options.prefix = text[..at].to_string();
    at += 1;
    let mut zero = false;
    while let Some(b' ' | b'\'' | b'0') = bytes.get(at) {
        zero |= bytes[at] == b'0';
        at += 1;
    }
    let start = at;
    at += usize::from(bytes.get(at) == Some(&b'-'));
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    if at > start {
        let width = text[start..at]
            .parse::<i64>()
            .ok()
            .filter(|width| width.unsigned_abs() <= MAX_OUTPUT_BYTES as u64);
        let width = width.ok_or_else(|| format!("numfmt: invalid format '{text}' (width overflow)\n"))?;
        if zero && width > 0 {
            options.zero_padding = width as usize;
        } else if width != 0 {
            options.padding = width;
        }
    }
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        let start = at;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        let digits = if start == at { "0" } else { &text[start..at] };
        let precision = digits.parse().ok().filter(|precision| *precision <= MAX_OUTPUT_BYTES);
        options.precision =
            Some(precision.ok_or_else(|| format!("numfmt: invalid precision in format '{text}'\n"))?);
    }
    match bytes.get(at) {
        Some(b'f') => at += 1,
        None => return Err(format!("numfmt: format '{text}' ends in %\n")),
        _ => {
            return Err(format!("numfmt: invalid format '{text}', directive must be %[0]['][-][N][.][N]f\n"));
        }
    }
    options.postfix = text[at..].to_string();
    if options.postfix.replace("%%", "").contains('%') {
        return Err(format!("numfmt: format '{text}' has too many % directives\n"));
    }
    Ok(())
}

fn parse(args: &[String]) -> std::result::Result<(Options, Vec<String>), ExecResult> {
    let (parsed, operands) = super::arg_parser::gnu_getopt(
        "numfmt",
        args,
        "d:z",
        &[
            ("from", OptArg::Required, 'f'),
            ("to", OptArg::Required, 't'),
            ("from-unit", OptArg::Required, 'F'),
            ("to-unit", OptArg::Required, 'T'),
            ("round", OptArg::Required, 'r'),
            ("suffix", OptArg::Required, 's'),
            ("padding", OptArg::Required, 'p'),
            ("format", OptArg::Required, 'o'),
            ("grouping", OptArg::No, 'g'),
            ("field", OptArg::Required, 'l'),
            ("delimiter", OptArg::Required, 'd'),
            ("header", OptArg::Optional, 'h'),
            ("invalid", OptArg::Required, 'i'),
            ("zero-terminated", OptArg::No, 'z'),
        ],
        true,
        1,
    )?;
    let mut options = Options {
        from: Scale::None,
        to: Scale::None,
        from_unit: 1,
        to_unit: 1,
        round: "from-zero",
        suffix: None,
        padding: 0,
        zero_padding: 0,
        auto_padding: false,
        prefix: String::new(),
        postfix: String::new(),
        precision: None,
        fields: vec![(1, 1)],
        delimiter: None,
        header: 0,
        invalid: Invalid::Abort,
        zero: false,
    };
    let (mut formatted, mut grouping) = (None, false);
    let mut set = |key: char, value: Option<String>| -> std::result::Result<(), String> {
        let given = value.clone().unwrap_or_default();
        let scales = [("none", Scale::None), ("si", Scale::Si), ("iec", Scale::Iec), ("iec-i", Scale::IecI)];
        match key {
            'f' => {
                let all: Vec<_> = scales.into_iter().chain([("auto", Scale::Auto)]).collect();
                options.from = choice("from", &given, &all)?;
            }
            't' => options.to = choice("to", &given, &scales)?,
            'F' => options.from_unit = unit(&given)?,
            'T' => options.to_unit = unit(&given)?,
            'r' => {
                let names = ["up", "down", "from-zero", "towards-zero", "nearest"].map(|name| (name, name));
                options.round = choice("round", &given, &names)?;
            }
            's' => options.suffix = value,
            'p' => {
                let padding = given.parse::<i64>().ok();
                let padding = padding.filter(|p| *p != 0 && p.unsigned_abs() <= MAX_OUTPUT_BYTES as u64);
                options.padding =
                    padding.ok_or_else(|| format!("numfmt: invalid padding value '{given}'\n"))?;
            }
            'o' => formatted = value,
            'g' => grouping = true,
            'l' => options.fields = fields(&given)?,
            'd' => {
                let mut chars = given.chars();
                options.delimiter = chars.next();
                if chars.next().is_some() || options.delimiter.is_none() {
                    return Err("numfmt: the delimiter must be a single character\n".to_string());
                }
            }
            'h' => {
                let lines = value.map_or(Some(1), |lines| lines.parse().ok()).filter(|lines| *lines > 0);
                options.header = lines.ok_or_else(|| format!("numfmt: invalid header value '{given}'\n"))?;
            }
            'i' => {
                let kinds = [
                    ("abort", Invalid::Abort),
                    ("fail", Invalid::Fail),
                    ("warn", Invalid::Warn),
                    ("ignore", Invalid::Ignore),
                ];
                options.invalid = choice("invalid", &given, &kinds)?;
            }
            _ => options.zero = true,
        }
        Ok(())
    };
    let mut failed = None;
    for option in parsed {
        if let Err(e) = set(option.key, option.value) {
            failed = Some(e);
            break;
        }
    }
    let failed = failed.or_else(|| match (&formatted, grouping) {
        (Some(_), true) => Some("numfmt: --grouping cannot be combined with --format\n".to_string()),
        (Some(text), false) => format(text, &mut options).err(),
        // The locale has no groups.
        (None, true) if options.to != Scale::None => {
            Some("numfmt: grouping cannot be combined with --to\n".to_string())
        }
        _ => None,
    });
    if let Some(e) = failed {
        return Err(ExecResult::err(e, 1));
    }
    options.auto_padding = options.padding == 0 && options.delimiter.is_none();
    Ok((options, operands))
}

fn ten_to(power: usize) -> BigDecimal {
    BigDecimal::new(1.into(), -(power as i64))
}

/// Digits as the GNU tool adds them up, and how many they are.
fn digits(text: &str) -> std::result::Result<(BigDecimal, usize), &'static str> {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    if text[..count].trim_start_matches('0').len() > MOST_DIGITS {
        return Err("value too large to be converted");
    }
    let exact = text[..count].parse().unwrap_or_else(|_| BigDecimal::zero());
    Ok((quotient(&exact, &BigDecimal::from(1)).unwrap_or(exact), count))
}

/// A number with its unit, and how many digits its fraction has.
fn number(text: &str, from: Scale) -> std::result::Result<(BigDecimal, usize), &'static str> {
    let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mut value, count) = digits(rest)?;
    let mut rest = &rest[count..];
    if count == 0 && !rest.starts_with('.') {
        return Err("invalid number");
    }
    let mut precision = 0;
    if let Some(fraction) = rest.strip_prefix('.') {
        let (part, count) = digits(fraction)?;
        if count == 0 {
            return Err("invalid number");
        }
        let part = quotient(&part, &ten_to(count)).unwrap_or(part);
        value = quotient(&(value + part), &BigDecimal::from(1)).ok_or("value too large to be converted")?;
        (precision, rest) = (count, &fraction[count..]);
    }
    rest = rest.trim_start_matches([' ', '\t']);
    let (mut base, mut power) = (from.base(), 0);
    if let Some(unit) = rest.chars().next() {
        power = UNITS.find(unit).ok_or("invalid suffix in input")? + 1;
        if from == Scale::None {
            return Err("rejecting suffix in input (consider using --from)");
        }
        rest = &rest[1..];
        if from == Scale::Auto && rest.starts_with('i') {
            (base, rest) = (1024, &rest[1..]);
        }
        precision = 0;
    }
    if from == Scale::IecI {
        rest = rest.strip_prefix('i').ok_or("missing 'i' suffix in input (e.g Ki/Mi/Gi)")?;
    }
    if !rest.is_empty() {
        return Err("invalid suffix in input");
    }
    for _ in 0..power {
        value = value * base;
    }
    let value = quotient(&value, &BigDecimal::from(1)).ok_or("value too large to be converted")?;
    Ok((if negative { -value } else { value }, precision))
}

/// Rounds to so many digits after the point, and computes as the GNU tool does.
fn rounded(value: &BigDecimal, digits: usize, round: &str) -> BigDecimal {
    let mode = match round {
        "up" => RoundingMode::Ceiling,
        "down" => RoundingMode::Floor,
        "towards-zero" => RoundingMode::Down,
        "nearest" => RoundingMode::HalfUp,
        _ => RoundingMode::Up,
    };
    let one = BigDecimal::from(1);
    let shifted = quotient(&(value * ten_to(digits)), &one).unwrap_or_else(|| value.clone());
    let whole = shifted.with_scale_round(0, mode);
    quotient(&whole, &ten_to(digits)).unwrap_or(whole)
}

fn fixed(value: &BigDecimal, precision: usize, width: usize) -> String {
    let digits = value.abs().with_scale_round(precision as i64, RoundingMode::HalfEven).to_plain_string();
    let sign = if value.is_negative() { "-" } else { "" };
    let zeros = "0".repeat(width.saturating_sub(sign.len() + digits.len()));
    format!("{sign}{zeros}{digits}")
}

fn written(
    value: &BigDecimal,
    precision: usize,
    options: &Options,
) -> std::result::Result<String, &'static str> {
    let precision = options.precision.unwrap_or(precision);
    let whole = value.abs().with_scale_round(0, RoundingMode::Down);
    let exponent = if whole.is_zero() { 0 } else { whole.digits() as i64 - 1 };
    if options.to == Scale::None {
        if exponent + precision as i64 > MOST_UNSCALED {
            return Err("value/precision too large to be printed (consider using --to)");
        }
        return Ok(fixed(&rounded(value, precision, options.round), precision, options.zero_padding));
    }
    if exponent >= MOST_DIGITS as i64 {
        return Err("value too large to be printed");
    }
    let base = BigDecimal::from(options.to.base());
    let (mut value, mut power) = (value.clone(), 0);
    while value.abs() >= base {
        value = quotient(&value, &base).unwrap_or_else(BigDecimal::zero);
        power += 1;
    }
    let digits = match options.precision {
        Some(precision) => precision.min(power * 3),
        None => usize::from(value.abs() < BigDecimal::from(10)),
    };
    value = rounded(&value, digits, options.round);
    if value.abs() >= base {
        value = quotient(&value, &base).unwrap_or_else(BigDecimal::zero);
        power += 1;
    }
    let point = !value.is_zero() && value.abs() < BigDecimal::from(10) && power > 0;
    let mut out = fixed(&value, options.precision.unwrap_or(usize::from(point)), options.zero_padding);
    if power > 0 {
        out.push(UNITS.chars().nth(power - 1).ok_or("value too large to be printed")?);
        if options.to == Scale::IecI {
            out.push('i');
        }
    }
    Ok(out)
}

fn field(text: &str, at: usize, options: &Options) -> std::result::Result<String, String> {
    let suffix = options.suffix.as_deref().unwrap_or_default();
    let bare = text.strip_suffix(suffix).filter(|bare| !bare.is_empty()).unwrap_or(text);
    let start = bare.trim_start_matches([' ', '\t']);
    let fail = |why: &str| format!("numfmt: {why}: '{start}'\n");
    let (mut value, precision) = number(start, options.from).map_err(fail)?;
    if options.from_unit != 1 || options.to_unit != 1 {
        value = quotient(&(value * BigDecimal::from(options.from_unit)), &BigDecimal::from(options.to_unit))
            .ok_or_else(|| fail("value too large to be converted"))?;
    }
    let out = written(&value, precision, options).map_err(fail)? + suffix;
    let padding = match options.auto_padding {
        true if start.len() < bare.len() || at > 1 => bare.chars().count() as i64,
        true => 0,
        false => options.padding,
    };
    let width = padding.unsigned_abs() as usize;
    let out = if padding < 0 { format!("{out:<width$}") } else { format!("{out:>width$}") };
    Ok(format!("{}{out}{}", options.prefix, options.postfix))
}

/// A line with its numbers converted; what could not be is as it was, and why is in `errors`.
fn line(text: &str, options: &Options, errors: &mut String) -> std::result::Result<String, ()> {
    let mut out = String::new();
    let mut rest = text;
    for at in 1.. {
        let end = match options.delimiter {
            Some(delimiter) => rest.find(delimiter),
            None => {
                let start = rest.len() - rest.trim_start_matches([' ', '\t']).len();
                rest[start..].find([' ', '\t']).map(|end| start + end)
            }
        };
        let part = &rest[..end.unwrap_or(rest.len())];
        if options.fields.iter().any(|(from, to)| (*from..=*to).contains(&at)) {
            match field(part, at, options) {
                Ok(converted) => out.push_str(&converted),
                Err(e) => {
                    if options.invalid != Invalid::Ignore {
                        errors.push_str(&e);
                    }
                    if options.invalid == Invalid::Abort {
                        return Err(());
                    }
                    out.push_str(part);
                }
            }
        } else {
            out.push_str(part);
        }
        let Some(end) = end else { break };
        out.push(options.delimiter.unwrap_or(' '));
        rest = &rest[end + options.delimiter.map_or(1, char::len_utf8)..];
    }
    Ok(out)
}

#[async_trait]
impl Builtin for Numfmt {
    async fn execute(&self, ctx: Context<'_>) -> Result<ExecResult> {
        if let Some(r) = super::check_help_version(
            ctx.args,
            "Usage: numfmt [OPTION]... [NUMBER]...\nReformat NUMBER(s), or the numbers from standard input if none are specified.\n\n  --from=UNIT, --to=UNIT\tnone, si, iec, iec-i; auto for --from\n  --from-unit=N, --to-unit=N\tthe size of a unit\n  --round=METHOD\tup, down, from-zero (default), towards-zero, nearest\n  --suffix=SUFFIX\tadd SUFFIX, and accept it in input\n  --padding=N\tpad to N characters; a negative N aligns left\n  --format=FORMAT\t%[0]['][-][N][.][N]f\n  --field=FIELDS\tthe fields to convert\n  -d, --delimiter=X\tuse X instead of blanks\n  --header[=N]\tprint the first N lines as they are\n  --invalid=MODE\tabort (default), fail, warn, ignore\n  -z, --zero-terminated\tlines end with NUL\n  --help\tdisplay this help and exit\n  --version\toutput version information and exit\n",
            Some("numfmt (bashkit) 0.1"),
        ) {
            return Ok(r);
        }
        let (options, operands) = match parse(ctx.args) {
            Ok(parsed) => parsed,
            Err(e) => return Ok(e),
        };
        let end = if options.zero { '\0' } else { '\n' };
        let input = ctx.stdin.map(|s| s.to_string()).unwrap_or_default();
        let (mut output, mut errors, mut status) = (String::new(), String::new(), 0);
        let lines: Vec<(usize, &str)> = if operands.is_empty() {
            input.split_terminator(end).enumerate().collect()
        } else {
            operands.iter().map(|operand| (usize::MAX, operand.as_str())).collect()
        };
        for (at, text) in lines {
            let before = errors.len();
            if at < options.header {
                output.push_str(text);
            } else {
                match line(text, &options, &mut errors) {
                    Ok(converted) => output.push_str(&converted),
                    Err(()) => {
                        status = 2;
                        break;
                    }
                }
            }
            output.push(end);
            if errors.len() > before && options.invalid == Invalid::Fail {
                status = 2;
            }
            if output.len() > MAX_OUTPUT_BYTES {
                return Ok(cap_exceeded("numfmt", output, "output byte", MAX_OUTPUT_BYTES));
            }
        }
        let mut result = ExecResult::with_code(output, status);
        result.stderr = errors.into();
        Ok(result)
    }
}
