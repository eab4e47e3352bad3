//! Dates and times of traces: `2018-01-11T16:32:22.0` or `2018-01-11 16:32:22`, without a time zone.
//!
//! What must always hold: a moment is written as it was read, and how it is written does not matter to a comparison.

use core::cmp::Ordering;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use serde::{Deserialize, Deserializer, de};

/// A moment, to a microsecond.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Microseconds since the beginning of the year 0 of the calendar as it is now.
    microseconds: u64,
    /// What is written between the date and the time: `T` or a space.
    separator: char,
    /// How many digits of the fraction are written: 0, without a point, to 6.
    digits: u8,
}

impl Moment {
    /// Returns how long after `earlier` this is; zero if it is not after it.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.microseconds.saturating_sub(earlier.microseconds))
    }
}

impl PartialEq for Moment {
    fn eq(&self, other: &Self) -> bool {
        self.microseconds == other.microseconds
    }
}

impl Eq for Moment {}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> Ordering {
        self.microseconds.cmp(&other.microseconds)
    }
}

impl FromStr for Moment {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (whole, fraction) = match text.split_once('.') {
            Some((_, "")) => return Err(()),
            Some(parts) => parts,
            None => (text, ""),
        };
        let bytes = whole.as_bytes();
        // YYYY-MM-DDTHH:MM:SS
        let is_shaped = bytes.len() == 19
            && bytes.iter().zip(b"dddd-dd-ddTdd:dd:dd").all(|(byte, shape)| match shape {
                b'd' => byte.is_ascii_digit(),
                b'T' => matches!(byte, b'T' | b' '),
                _ => byte == shape,
            });
        let digits = u8::try_from(fraction.len()).ok().filter(|digits| *digits <= 6).ok_or(())?;
        if !is_shaped || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(());
        }
        // All ASCII, and digits in these places.
        let part = |from: usize, to: usize| whole[from..to].parse::<u64>().map_err(drop);
        let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
        let (hour, minute, second) = (part(11, 13)?, part(14, 16)?, part(17, 19)?);
        let is_time = hour < 24 && minute < 60 && second < 60;
        if !(1..=12).contains(&month) || day == 0 || day > days_in(year, month) || !is_time {
            return Err(());
        }
        let days = days_before_year(year) + (1..month).map(|month| days_in(year, month)).sum::<u64>() + day - 1;
        let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
        let fraction = fraction.bytes().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
        let fraction = fraction * 10_u64.pow(6 - u32::from(digits));
        let separator = char::from(bytes[10]);
        Ok(Self { microseconds: seconds * 1_000_000 + fraction, separator, digits })
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, micros) = (self.microseconds / 1_000_000, self.microseconds % 1_000_000);
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        let mut year = days / 366;
        while days_before_year(year + 1) <= days {
            year += 1;
        }
        let (mut month, mut day) = (1, days - days_before_year(year));
        while day >= days_in(year, month) {
            day -= days_in(year, month);
            month += 1;
        }
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        write!(out, "{year:04}-{month:02}-{:02}{}", day + 1, self.separator)?;
        write!(out, "{hour:02}:{minute:02}:{second:02}")?;
        if self.digits == 0 {
            return Ok(());
        }
        let fraction = micros / 10_u64.pow(6 - u32::from(self.digits.min(6)));
        write!(out, ".{fraction:0width$}", width = usize::from(self.digits))
    }
}

/// Reads a moment in a header.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Moment, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(|()| de::Error::custom(format_args!("\"{text}\" {MUST_BE}")))
}

/// What the text of a moment must be.
pub(super) const MUST_BE: &str = "must be like 2018-01-11T16:32:22.0 or 2018-01-11 16:32:22";

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// Returns how many days the years from 0 up to this one have.
const fn days_before_year(year: u64) -> u64 {
    // 0 is a leap year.
    365 * year + year.div_ceil(4) - year.div_ceil(100) + year.div_ceil(400)
}

const fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_they_are_read() {
        for text in [
            "2018-01-11T16:32:22.0",
            "2000-02-29T23:59:59.999999",
            "1900-03-01T00:00:00.05",
            "0000-01-01T00:00:00.0",
            "9999-12-31T23:59:59.9",
            "2020-12-31T00:00:00.123",
            "2018-01-11 16:32:22",
            "2018-01-11T16:32:22",
            "2018-01-11 16:32:22.50",
        ] {
            assert_eq!(text.parse::<Moment>().map(|moment| moment.to_string()).as_deref(), Ok(text));
        }
        let since = |later: &str, earlier: &str| later.parse::<Moment>().unwrap().since(earlier.parse().unwrap());
        // 47 h 49 min 8 s, and a leap day.
        assert_eq!(since("2018-01-13T16:21:30.0", "2018-01-11T16:32:22.0").as_secs(), 172_148);
        assert_eq!(since("2020-03-01T00:00:00.5", "2020-02-28T00:00:00.25").as_millis(), 2 * 86_400_000 + 250);
    }

    #[test]
    fn moments_are_compared_by_time_alone() {
        let moment = |text: &str| text.parse::<Moment>().unwrap();
        let same = ["2018-01-11T16:32:22.0", "2018-01-11 16:32:22", "2018-01-11T16:32:22.000"].map(moment);
        for (first, second) in same.iter().flat_map(|first| same.iter().map(move |second| (first, second))) {
            assert_eq!((first, first.cmp(second)), (second, Ordering::Equal));
            assert!(*first < moment("2018-01-11 16:32:22.1") && *first > moment("2018-01-11T16:32:21.999999"));
        }
    }

    #[test]
    fn other_texts_are_no_moments() {
        for text in [
            "",
            "2018-01-11T16:32",
            "2018-01-11T16:32:22.",
            "2018-01-11 16:32:22.",
            "2018-01-11  16:32:22",
            "2018-01-11t16:32:22.0",
            "2018-01-11_16:32:22",
            "2018-01-11 16:32:22 ",
            "2018-13-11T16:32:22.0",
            "2018-02-29T16:32:22.0",
            "1900-02-29T16:32:22.0",
            "2018-01-00T16:32:22.0",
            "2018-01-11T24:32:22.0",
            "2018-01-11T16:32:60.0",
            "2018-01-11T16:32:22.0000000",
            "2018-01-11T16:32:2\u{e9}.0",
            "+018-01-11T16:32:22.0",
        ] {
            assert_eq!(text.parse::<Moment>(), Err(()), "{text}");
        }
    }
}
