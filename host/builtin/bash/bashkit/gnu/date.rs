//! Parser for the argument of `date -d` and similar options: the grammar of
//! `parse_datetime` of the GNU tools, by hand. A text that it does not cover is an error.

use chrono::{DateTime, Datelike, Duration, NaiveDate, NaiveDateTime, Timelike, Utc};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Unit {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

/// A number as it is written: its sign is part of the token.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Number {
    value: i64,
    digits: usize,
    signed: bool,
    /// Nanoseconds after a point, which only seconds have.
    fraction: Option<i64>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Token {
    Number(Number),
    Meridian(bool),
    Month(i64),
    Day(i64),
    Unit(Unit, i64),
    Ordinal(i64),
    DayShift(i64),
    Ago,
    /// Seconds east of UTC.
    Zone(i64),
    DayZone(i64),
    LocalZone,
    Dst,
    T,
    Char(char),
    End,
}

const MONTHS: [&str; 13] = [
    "JANUARY",
    "FEBRUARY",
    "MARCH",
    "APRIL",
    "MAY",
    "JUNE",
    "JULY",
    "AUGUST",
    "SEPTEMBER",
    "OCTOBER",
    "NOVEMBER",
    "DECEMBER",
    "SEPT",
];
const DAYS: [(&str, i64); 11] = [
    ("SUNDAY", 0),
    ("MONDAY", 1),
    ("TUESDAY", 2),
    ("TUES", 2),
    ("WEDNESDAY", 3),
    ("WEDNES", 3),
    ("THURSDAY", 4),
    ("THUR", 4),
    ("THURS", 4),
    ("FRIDAY", 5),
    ("SATURDAY", 6),
];
const ORDINALS: [(&str, i64); 14] = [
    ("LAST", -1),
    ("THIS", 0),
    ("NEXT", 1),
    ("FIRST", 1),
    ("THIRD", 3),
    ("FOURTH", 4),
    ("FIFTH", 5),
    ("SIXTH", 6),
    ("SEVENTH", 7),
    ("EIGHTH", 8),
    ("NINTH", 9),
    ("TENTH", 10),
    ("ELEVENTH", 11),
    ("TWELFTH", 12),
];
/// Zones by name: minutes east of UTC, and whether it is summer time, which is an hour more.
const ZONES: [(&str, i64, bool); 49] = [
    ("GMT", 0, false),
    ("UT", 0, false),
    ("UTC", 0, false),
    ("WET", 0, false),
    ("WEST", 0, true),
    ("BST", 0, true),
    ("ART", -180, false),
    ("BRT", -180, false),
    ("BRST", -180, true),
    ("NST", -210, false),
    ("NDT", -210, true),
    ("AST", -240, false),
    ("ADT", -240, true),
    ("CLT", -240, false),
    ("CLST", -240, true),
    ("EST", -300, false),
    ("EDT", -300, true),
    ("CST", -360, false),
    ("CDT", -360, true),
    ("MST", -420, false),
    ("MDT", -420, true),
    ("PST", -480, false),
    ("PDT", -480, true),
    ("AKST", -540, false),
    ("AKDT", -540, true),
    ("HST", -600, false),
    ("HAST", -600, false),
    ("HADT", -600, true),
    ("SST", -720, false),
    ("WAT", 60, false),
    ("CET", 60, false),
    ("CEST", 60, true),
    ("MET", 60, false),
    ("MEZ", 60, false),
    ("MEST", 60, true),
    ("MESZ", 60, true),
    ("EET", 120, false),
    ("EEST", 120, true),
    ("CAT", 120, false),
    ("SAST", 120, false),
    ("EAT", 180, false),
    ("MSK", 180, false),
    ("MSD", 180, true),
    ("IST", 330, false),
    ("SGT", 480, false),
    ("KST", 540, false),
    ("JST", 540, false),
    ("NZST", 720, false),
    ("NZDT", 720, true),
];

fn unit(word: &str) -> Option<Token> {
    Some(match word {
        "YEAR" => Token::Unit(Unit::Year, 1),
        "MONTH" => Token::Unit(Unit::Month, 1),
        "FORTNIGHT" => Token::Unit(Unit::Day, 14),
        "WEEK" => Token::Unit(Unit::Day, 7),
        "DAY" => Token::Unit(Unit::Day, 1),
        "HOUR" => Token::Unit(Unit::Hour, 1),
        "MINUTE" | "MIN" => Token::Unit(Unit::Minute, 1),
        "SECOND" | "SEC" => Token::Unit(Unit::Second, 1),
        _ => return None,
    })
}

fn zone(word: &str, local: &str) -> Option<Token> {
    if !matches!(word, "GMT" | "UT" | "UTC") && word.eq_ignore_ascii_case(local) {
        return Some(Token::LocalZone);
    }
    let (_, minutes, summer) = ZONES.iter().find(|(name, ..)| *name == word)?;
    Some(if *summer { Token::DayZone(minutes * 60) } else { Token::Zone(minutes * 60) })
}

fn word(word: &str, local: &str) -> Option<Token> {
    let word = word.to_ascii_uppercase();
    match word.as_str() {
        "AM" | "A.M." => return Some(Token::Meridian(false)),
        "PM" | "P.M." => return Some(Token::Meridian(true)),
        _ => {}
    }
    let short = word.len() == 3 || (word.len() == 4 && word.ends_with('.'));
    let is = |name: &str| if short { name.get(..3) == word.get(..3) } else { name == word };
    if let Some(at) = MONTHS.iter().position(|name| is(name)) {
        return Some(Token::Month(if at == 12 { 9 } else { at as i64 + 1 }));
    }
    if let Some((_, day)) = DAYS.iter().find(|(name, _)| is(name)) {
        return Some(Token::Day(*day));
    }
    if let Some(zone) = zone(&word, local) {
        return Some(zone);
    }
    if word == "DST" {
        return Some(Token::Dst);
    }
    if let Some(unit) = unit(&word).or_else(|| unit(word.strip_suffix('S')?)) {
        return Some(unit);
    }
    match word.as_str() {
        "TOMORROW" => return Some(Token::DayShift(1)),
        "YESTERDAY" => return Some(Token::DayShift(-1)),
        "TODAY" | "NOW" => return Some(Token::DayShift(0)),
        "AGO" => return Some(Token::Ago),
        "T" => return Some(Token::T),
        _ => {}
    }
    if let Some((_, ordinal)) = ORDINALS.iter().find(|(name, _)| *name == word) {
        return Some(Token::Ordinal(*ordinal));
    }
    if let [letter @ b'A'..=b'Z'] = word.as_bytes() {
        let letter = i64::from(*letter);
        let hours = match letter as u8 {
            b'A'..=b'I' => letter - 64,
            b'K'..=b'M' => letter - 65,
            b'N'..=b'Y' => 77 - letter,
            b'Z' => 0,
            _ => return None,
        };
        return Some(Token::Zone(hours * 3600));
    }
    word.contains('.').then(|| zone(&word.replace('.', ""), local)).flatten()
}

/// The tokens of a text, or None where it has something else.
fn tokens(text: &str, local: &str) -> Option<Vec<Token>> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let space = |at: usize| bytes.get(at).is_some_and(|b| b.is_ascii_whitespace() || *b == 0x0b);
    while at < bytes.len() {
        let byte = bytes[at];
        if space(at) {
            at += 1;
        } else if byte.is_ascii_digit() || byte == b'-' || byte == b'+' {
            let signed = !byte.is_ascii_digit();
            if signed {
                at += 1;
                while space(at) {
                    at += 1;
                }
                // A sign before something else says nothing.
                if !digit(at) {
                    continue;
                }
            }
            let start = at;
            while digit(at) {
                at += 1;
            }
            let sign = if byte == b'-' { "-" } else { "" };
            let mut value: i64 = format!("{sign}{}", &text[start..at]).parse().ok()?;
            let digits = at - start;
            let mut fraction = None;
            if matches!(bytes.get(at), Some(b'.' | b',')) && digit(at + 1) {
                let from = at + 1;
                at = from;
                while digit(at) {
                    at += 1;
                }
                let nines: String = text[from..at].chars().chain("000000000".chars()).take(9).collect();
                let mut nanos: i64 = nines.parse().ok()?;
                if byte == b'-' {
                    // Seconds are rounded down.
                    let more = text[from..at].bytes().skip(9).any(|b| b != b'0');
                    nanos += i64::from(more);
                    if nanos > 0 {
                        value = value.checked_sub(1)?;
                        nanos = 1_000_000_000 - nanos;
                    }
                }
                fraction = Some(nanos);
            }
            out.push(Token::Number(Number { value, digits, signed, fraction }));
        } else if byte.is_ascii_alphabetic() {
            let start = at;
            while bytes.get(at).is_some_and(|b| b.is_ascii_alphabetic() || *b == b'.') {
                at += 1;
            }
            out.push(word(&text[start..at], local)?);
        } else if byte == b'(' {
            let mut depth = 0;
            loop {
                match bytes.get(at)? {
                    b'(' => depth += 1,
                    b')' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    break;
                }
            }
        } else if matches!(byte, b':' | b',' | b'/' | b'@') {
            out.push(Token::Char(byte as char));
            at += 1;
        } else {
            return None;
        }
    }
    Some(out)
}

#[derive(Clone, Copy, Default)]
struct Shift {
    year: i64,
    month: i64,
    day: i64,
    seconds: i64,
    nanos: i64,
}

#[derive(Default)]
struct Parsed {
    times: u32,
    dates: u32,
    days: u32,
    zones: u32,
    rels: u32,
    date: (i64, i64, i64),
    year_digits: usize,
    hour: i64,
    minute: i64,
    second: i64,
    nanos: i64,
    /// Morning or afternoon.
    meridian: Option<bool>,
    day_ordinal: i64,
    day_number: i64,
    zone: i64,
    rel: Shift,
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    /// Seconds east of UTC of the zone that the text is read in.
    local: i64,
    out: Parsed,
}

impl Parser<'_> {
    fn peek(&self, ahead: usize) -> Token {
        self.tokens.get(self.at + ahead).copied().unwrap_or(Token::End)
    }

    fn unsigned(&self, ahead: usize) -> Option<Number> {
        match self.peek(ahead) {
            Token::Number(number) if !number.signed && number.fraction.is_none() => Some(number),
            _ => None,
        }
    }

    fn signed(&self, ahead: usize) -> Option<Number> {
        match self.peek(ahead) {
            Token::Number(number) if number.signed && number.fraction.is_none() => Some(number),
            _ => None,
        }
    }

    fn char(&self, ahead: usize, c: char) -> bool {
        self.peek(ahead) == Token::Char(c)
    }

    fn set_date(&mut self, year: Option<Number>, month: i64, day: i64) {
        self.out.dates += 1;
        if let Some(year) = year {
            self.out.date.0 = year.value;
            self.out.year_digits = year.digits;
        }
        self.out.date.1 = month;
        self.out.date.2 = day;
    }

    /// A zone as `+hh`, `+hhmm` or `+hh:mm`, in seconds east of UTC.
    fn offset(&mut self, number: Number) -> Option<i64> {
        self.at += 1;
        let minutes = if self.char(0, ':') && self.unsigned(1).is_some() {
            let minutes = self.unsigned(1)?.value;
            self.at += 2;
            let negative = matches!(self.tokens.get(self.at - 3), Some(Token::Number(n)) if n.value < 0);
            number.value.checked_mul(60)?.checked_add(if negative { -minutes } else { minutes })?
        } else {
            let value = if number.digits <= 2 { number.value.checked_mul(100)? } else { number.value };
            value / 100 * 60 + value % 100
        };
        (minutes.abs() <= 24 * 60).then_some(minutes * 60)
    }

    fn set_offset(&mut self, base: i64) -> Option<()> {
        let number = self.signed(0)?;
        let seconds = self.offset(number)?;
        self.out.zones += 1;
        self.out.zone = base + seconds;
        Some(())
    }

    /// `hh:mm[:ss[.frac]]`, at its hour, with a meridian or a zone.
    fn time(&mut self) -> Option<()> {
        self.out.times += 1;
        self.out.hour = self.unsigned(0)?.value;
        self.out.minute = self.unsigned(2)?.value;
        self.at += 3;
        (self.out.second, self.out.nanos) = (0, 0);
        if self.char(0, ':') {
            let Token::Number(number) = self.peek(1) else { return None };
            if number.signed {
                return None;
            }
            self.out.second = number.value;
            self.out.nanos = number.fraction.unwrap_or(0);
            self.at += 2;
        }
        if let Token::Meridian(meridian) = self.peek(0) {
            self.out.meridian = Some(meridian);
            self.at += 1;
        } else if self.signed(0).is_some() {
            self.set_offset(0)?;
        }
        Some(())
    }

    /// A number that stands for itself: a year, a date or a time.
    fn number(&mut self, number: Number) {
        let out = &mut self.out;
        if out.dates > 0 && out.year_digits == 0 && out.rels == 0 && (out.times > 0 || number.digits > 2) {
            out.date.0 = number.value;
            out.year_digits = number.digits;
        } else if number.digits > 4 {
            out.dates += 1;
            out.date = (number.value / 10_000, number.value / 100 % 100, number.value % 100);
            out.year_digits = number.digits - 4;
        } else {
            out.times += 1;
            (out.hour, out.minute) =
                if number.digits <= 2 { (number.value, 0) } else { (number.value / 100, number.value % 100) };
            (out.second, out.nanos, out.meridian) = (0, 0, None);
        }
    }

    /// A span: what was counted, of which unit, and whether it is ago.
    fn shift(&mut self, count: i64, nanos: i64, unit: Unit, factor: i64) -> Option<()> {
        let sign = if self.peek(0) == Token::Ago {
            self.at += 1;
            -1
        } else {
            1
        };
        let count = count.checked_mul(factor)?.checked_mul(sign)?;
        let rel = &mut self.out.rel;
        let (slot, factor) = match unit {
            Unit::Year => (&mut rel.year, 1),
            Unit::Month => (&mut rel.month, 1),
            Unit::Day => (&mut rel.day, 1),
            Unit::Hour => (&mut rel.seconds, 3600),
            Unit::Minute => (&mut rel.seconds, 60),
            Unit::Second => (&mut rel.seconds, 1),
        };
        *slot = slot.checked_add(count.checked_mul(factor)?)?;
        rel.nanos += nanos * sign;
        self.out.rels += 1;
        Some(())
    }

    fn item(&mut self) -> Option<()> {
        match self.peek(0) {
            Token::Number(number) => self.item_of(number),
            Token::Unit(unit, factor) => {
                self.at += 1;
                self.shift(1, 0, unit, factor)
            }
            Token::Ordinal(ordinal) => match self.peek(1) {
                Token::Unit(unit, factor) => {
                    self.at += 2;
                    self.shift(ordinal, 0, unit, factor)
                }
                Token::Day(day) => {
                    self.at += 2;
                    self.day(ordinal, day)
                }
                _ => None,
            },
            Token::DayShift(days) => {
                self.at += 1;
                self.out.rel.day = self.out.rel.day.checked_add(days)?;
                self.out.rels += 1;
                Some(())
            }
            Token::Day(day) => {
                self.at += 1;
                if self.char(0, ',') {
                    self.at += 1;
                }
                self.day(0, day)
            }
            Token::Month(month) => {
                if let (Some(day), Some(year)) = (self.signed(1), self.signed(2)) {
                    self.at += 3;
                    let year = Number { value: -year.value, ..year };
                    self.set_date(Some(year), month, -day.value);
                } else {
                    let day = self.unsigned(1)?.value;
                    let year = self.char(2, ',').then(|| self.unsigned(3)).flatten();
                    self.at += if year.is_some() { 4 } else { 2 };
                    self.set_date(year, month, day);
                }
                Some(())
            }
            token @ (Token::Zone(_) | Token::T) => {
                let base = if let Token::Zone(base) = token { base } else { -7 * 3600 };
                self.at += 1;
                if self.signed(0).is_some() && !matches!(self.peek(1), Token::Unit(..)) && token != Token::T {
                    return self.set_offset(base);
                }
                if self.signed(0).is_some() && self.peek(2) == Token::Ago {
                    return None;
                }
                self.out.zones += 1;
                self.out.zone = base;
                if self.peek(0) == Token::Dst && token != Token::T {
                    self.at += 1;
                    self.out.zone += 3600;
                }
                Some(())
            }
            Token::DayZone(base) => {
                self.at += 1;
                self.out.zones += 1;
                self.out.zone = base + 3600;
                Some(())
            }
            // The zone that the text is read in anyhow.
            Token::LocalZone => {
                self.at += 1;
                self.out.zones += 1;
                self.out.zone = self.local;
                Some(())
            }
            _ => None,
        }
    }

    fn day(&mut self, ordinal: i64, day: i64) -> Option<()> {
        self.out.days += 1;
        (self.out.day_ordinal, self.out.day_number) = (ordinal, day);
        Some(())
    }

    /// Parses an item that begins with a number.
    fn item_of(&mut self, number: Number) -> Option<()> {
        if let Token::Unit(unit, factor) = self.peek(1) {
            if number.fraction.is_some() && unit != Unit::Second {
                return None;
            }
            self.at += 2;
            return self.shift(number.value, number.fraction.unwrap_or(0), unit, factor);
        }
        if number.signed || number.fraction.is_some() {
            return None;
        }
        match self.peek(1) {
            Token::Char(':') => {
                self.unsigned(2)?;
                self.time()
            }
            Token::Meridian(meridian) => {
                self.at += 2;
                self.out.times += 1;
                (self.out.hour, self.out.minute, self.out.second, self.out.nanos) = (number.value, 0, 0, 0);
                self.out.meridian = Some(meridian);
                Some(())
            }
            Token::Char('/') => {
                let second = self.unsigned(2)?;
                if !self.char(3, '/') {
                    self.at += 3;
                    self.set_date(None, number.value, second.value);
                    return Some(());
                }
                let third = self.unsigned(4)?;
                self.at += 5;
                if number.digits >= 4 {
                    self.set_date(Some(number), second.value, third.value);
                } else {
                    self.set_date(Some(third), number.value, second.value);
                }
                Some(())
            }
            Token::Month(month) => {
                self.at += 2;
                let year = self
                    .signed(0)
                    .map(|year| Number { value: -year.value, ..year })
                    .or_else(|| self.unsigned(0));
                if year.is_some() {
                    self.at += 1;
                }
                self.set_date(year, month, number.value);
                Some(())
            }
            Token::Day(day) => {
                self.at += 2;
                self.day(number.value, day)
            }
            Token::Number(next) if next.signed => match self.peek(2) {
                Token::Number(_) if next.fraction.is_none() && self.signed(2).is_some() => {
                    let day = self.signed(2)?;
                    self.at += 3;
                    self.set_date(Some(number), -next.value, -day.value);
                    if self.peek(0) == Token::T && self.unsigned(1).is_some() {
                        self.at += 1;
                        if self.char(1, ':') && self.unsigned(2).is_some() {
                            let before = self.out.meridian;
                            self.time()?;
                            return (self.out.meridian == before).then_some(());
                        }
                        let hour = self.unsigned(0)?;
                        self.at += 1;
                        self.signed(0)?;
                        return self.hour_with_zone(hour);
                    }
                    Some(())
                }
                Token::Unit(..) if self.peek(3) == Token::Ago => None,
                Token::Unit(..) => {
                    self.at += 1;
                    self.number(number);
                    Some(())
                }
                _ => {
                    self.at += 1;
                    self.hour_with_zone(number)
                }
            },
            _ => {
                self.at += 1;
                self.number(number);
                Some(())
            }
        }
    }

    fn hour_with_zone(&mut self, hour: Number) -> Option<()> {
        self.out.times += 1;
        (self.out.hour, self.out.minute, self.out.second, self.out.nanos) = (hour.value, 0, 0, 0);
        self.out.meridian = None;
        self.set_offset(0)
    }
}

/// Midnight of a day that may be out of its month.
fn midnight(year: i64, month: i64, day: i64) -> Option<NaiveDateTime> {
    let months = year.checked_mul(12)?.checked_add(month)?.checked_sub(1)?;
    let year = i32::try_from(months.div_euclid(12)).ok()?;
    let first = NaiveDate::from_ymd_opt(year, u32::try_from(months.rem_euclid(12)).ok()? + 1, 1)?;
    first.and_hms_opt(0, 0, 0)?.checked_add_signed(Duration::try_days(day.checked_sub(1)?)?)
}

/// The moment that a text names, in the years that have four digits. Its zone is `offset` seconds east of UTC and
/// has this name, unless the text names another.
pub(super) fn parse(text: &str, now: DateTime<Utc>, offset: i64, local: &str) -> Option<DateTime<Utc>> {
    let tokens = tokens(text, local)?;
    let four_digits = |moment: &DateTime<Utc>| (0..=9999).contains(&moment.year());
    if let [Token::Char('@'), Token::Number(number)] = tokens[..] {
        let nanos = u32::try_from(number.fraction.unwrap_or(0)).ok()?;
        return DateTime::from_timestamp(number.value, nanos).filter(four_digits);
    }
    let shifted = now.naive_utc().checked_add_signed(Duration::try_seconds(offset)?)?;
    let mut parser = Parser { tokens: &tokens, at: 0, local: offset, out: Parsed::default() };
    parser.out.date = (shifted.year().into(), shifted.month().into(), shifted.day().into());
    while parser.at < tokens.len() {
        parser.item()?;
    }
    let out = parser.out;
    if out.times > 1 || out.dates > 1 || out.days > 1 || out.zones > 1 {
        return None;
    }
    let (mut year, month, day) = out.date;
    if out.year_digits == 2 {
        year += if year < 69 { 2000 } else { 1900 };
    }
    let time = if out.times > 0 {
        let hour = match out.meridian {
            None => out.hour,
            Some(afternoon) if (1..=12).contains(&out.hour) => out.hour % 12 + if afternoon { 12 } else { 0 },
            Some(_) => return None,
        };
        (0..24).contains(&hour).then_some(())?;
        (0..60).contains(&out.minute).then_some(())?;
        (0..60).contains(&out.second).then_some(())?;
        Duration::try_seconds(hour * 3600 + out.minute * 60 + out.second)? + Duration::nanoseconds(out.nanos)
    } else if out.rels > 0 && out.dates == 0 && out.days == 0 {
        Duration::seconds(shifted.num_seconds_from_midnight().into())
            + Duration::nanoseconds(shifted.nanosecond().into())
    } else {
        Duration::zero()
    };
    let i32_year = i32::try_from(year).ok()?;
    let date = NaiveDate::from_ymd_opt(i32_year, u32::try_from(month).ok()?, u32::try_from(day).ok()?)?;
    let mut day = day;
    if out.days > 0 && out.dates == 0 {
        let today = i64::from(date.weekday().num_days_from_sunday());
        let weeks = out.day_ordinal - i64::from(out.day_ordinal > 0 && today != out.day_number);
        day = day.checked_add(weeks.checked_mul(7)?)?.checked_add((out.day_number - today + 7) % 7)?;
    }
    let rel = out.rel;
    let east = if out.zones > 0 { out.zone } else { offset };
    let seconds = rel.seconds.checked_sub(east)?.checked_add(rel.nanos.div_euclid(1_000_000_000))?;
    midnight(year.checked_add(rel.year)?, month.checked_add(rel.month)?, day.checked_add(rel.day)?)?
        .checked_add_signed(time)?
        .checked_add_signed(Duration::try_seconds(seconds)?)?
        .checked_add_signed(Duration::nanoseconds(rel.nanos.rem_euclid(1_000_000_000)))
        .map(|moment| moment.and_utc())
        .filter(four_digits)
}
