//! Connectivity traces in the k7 format: what share of frames arrived, by pair of nodes, channel and time.
//!
//! ```text
//! {"tx_length": 100, "stop_date": "2018-01-13T16:21:30.0", "channels": [11, 12], ...}
//! datetime,src,dst,channel,mean_rssi,pdr,tx_count
//! 2018-01-11T16:32:22.0,0,18,11,-69.9,1.0,100
//! ```
//!
//! The format is the one that the 6TiSCH Simulator reads (SimEngine/Connectivity.py: `ConnectivityMatrixK7`): an object in JSON,
//! then the names of the columns, then rows. A row without a channel is of all channels of the header; one without a mean strength, of a
//! link over which nothing arrived. Traces of the k7 tool have moments like `2018-01-11 16:32:22`, and rows without the number of
//! frames; both are read, too.
//!
//! What must always hold: a file that is not exactly so is refused, with the number of the line; a trace that was read is
//! written as it was, up to the order and white space of the header, missing strengths (nothing, and never `None`), and how
//! numbers are rounded.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use serde::Deserialize;

use super::{Connectivity, RadioChange};

mod moment;

pub use moment::Moment;

/// A trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The first line.
    pub header: Header,
    /// All other lines, in the order of time.
    pub rows: Vec<Row>,
}

/// What holds for a whole trace.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The length of the frames in bytes.
    pub tx_length: u32,
    /// When the trace ends.
    #[serde(deserialize_with = "moment::deserialize")]
    pub stop_date: Moment,
    /// The channels, 11 to 26.
    pub channels: Vec<u8>,
    /// Where it was recorded.
    pub location: String,
    /// How many nodes there are, whose numbers begin with 0.
    pub node_count: u16,
    /// When the trace begins.
    #[serde(deserialize_with = "moment::deserialize")]
    pub start_date: Moment,
    /// The time between two frames in milliseconds.
    pub interframe_duration: u32,
}

/// What was measured of a link at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// When.
    pub datetime: Moment,
    /// The sender.
    pub src: u16,
    /// The receiver.
    pub dst: u16,
    /// The channel; `None` for all.
    pub channel: Option<u8>,
    /// The mean strength of what arrived, in dBm.
    pub mean_rssi: Option<f64>,
    /// The share of frames that arrived.
    pub pdr: f64,
    /// How many frames were sent, if it is known.
    pub tx_count: Option<u32>,
}

/// Why a file is no trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// The number of the line; the first one is 1.
    pub line: usize,
    /// What is wrong there.
    pub cause: TraceErrorCause,
}

/// What is wrong with a line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceErrorCause {
    /// The first line is not an object in JSON with all that a header has. The text says why.
    Header(String),
    /// The channels of the header are not numbers from 11 to 26, each once.
    Channels,
    /// The trace ends before it begins.
    Dates,
    /// The second line does not name the columns.
    Columns,
    /// A row has more or fewer fields than columns.
    Fields(usize),
    /// A field is not what it must be. The text is the name of its column.
    Field(&'static str),
    /// A node has a number that is not below the header's, or sends to itself.
    Node,
    /// The channel is none of the header's.
    Channel,
    /// The row is before the one above it, or outside of the dates of the header.
    Time,
}

impl Trace {
    /// Reads a trace.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut lines = (1..).zip(text.lines());
        let wrong = |line, cause| TraceError { line, cause };
        let header = lines.next().map_or("", |(_, header)| header);
        let header = match serde_json::from_str::<Header>(header) {
            Ok(header) => header,
            Err(error) => return Err(wrong(1, TraceErrorCause::Header(error.to_string()))),
        };
        header.check().map_err(|cause| wrong(1, cause))?;
        if lines.next().is_none_or(|(_, columns)| columns != COLUMNS) {
            return Err(wrong(2, TraceErrorCause::Columns));
        }
        let mut rows: Vec<Row> = Vec::new();
        for (line, text) in lines {
            let row = Row::parse(text, &header).map_err(|cause| wrong(line, cause))?;
            if rows.last().is_some_and(|last| row.datetime < last.datetime) {
                return Err(wrong(line, TraceErrorCause::Time));
            }
            rows.push(row);
        }
        Ok(Self { header, rows })
    }

    /// Returns who hears whom so long after the beginning of the trace: the last row of each link and channel until then, and
    /// where there is none yet, the first one after it, however late. The 6TiSCH Simulator does the latter only with the rows above
    /// the first one that repeats a link and channel, and gives all other links no quality before the time of their first row.
    pub fn connectivity(&self, after: Duration) -> Connectivity {
        let mut radio = Connectivity::new();
        let is_past = |row: &&Row| row.datetime.since(self.header.start_date) <= after;
        // What is set last remains: rows of the future from the last to the first, then those of the past as they come.
        let future = self.rows.iter().filter(|row| !is_past(row)).rev();
        for row in future.chain(self.rows.iter().filter(is_past)) {
            let delivery = if row.mean_rssi.is_none() { 0.0 } else { row.pdr };
            let channels = row.channel.as_ref().map_or(&self.header.channels[..], core::slice::from_ref);
            for channel in channels {
                radio.set_with_rssi(row.src, row.dst, Some(*channel), delivery, row.mean_rssi);
            }
        }
        radio
    }

    /// Returns what changes later than so long after the beginning of the trace, in the order of time. Times are counted from then.
    pub fn changes(&self, after: Duration) -> Vec<RadioChange> {
        let mut changes = Vec::new();
        for row in &self.rows {
            let Some(time) =
                row.datetime.since(self.header.start_date).checked_sub(after).filter(|time| !time.is_zero())
            else {
                continue;
            };
            let delivery = if row.mean_rssi.is_none() { 0.0 } else { row.pdr };
            let channels = row.channel.as_ref().map_or(&self.header.channels[..], core::slice::from_ref);
            let change = |channel: &u8| RadioChange {
                after: time,
                from: row.src,
                to: row.dst,
                channel: Some(*channel),
                delivery,
                rssi: row.mean_rssi,
            };
            changes.extend(channels.iter().map(change));
        }
        changes
    }
}

impl FromStr for Trace {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        Self::parse(text)
    }
}

impl Header {
    fn check(&self) -> Result<(), TraceErrorCause> {
        let is_new = |(index, channel): (usize, &u8)| !self.channels[..index].contains(channel);
        let are_channels = self.channels.iter().all(|channel| (11..=26).contains(channel));
        if !are_channels || !self.channels.iter().enumerate().all(is_new) {
            return Err(TraceErrorCause::Channels);
        }
        if self.stop_date < self.start_date { Err(TraceErrorCause::Dates) } else { Ok(()) }
    }
}

impl Row {
    fn parse(text: &str, header: &Header) -> Result<Self, TraceErrorCause> {
        let fields: Vec<&str> = text.split(',').collect();
        let [datetime, src, dst, channel, mean_rssi, pdr, tx_count] = fields[..] else {
            return Err(TraceErrorCause::Fields(fields.len()));
        };
        let datetime = datetime.parse().map_err(|()| TraceErrorCause::Field("datetime"))?;
        let (src, dst): (u16, u16) = (number(src, "src")?, number(dst, "dst")?);
        let channel = optional(channel, "channel")?;
        let mean_rssi = match mean_rssi {
            "" | "None" => None,
            text => Some(number(text, "mean_rssi")?).filter(|rssi| (-200.0..=100.0).contains(rssi)),
        };
        let is_out_of_range = mean_rssi.is_none() && !matches!(fields[4], "" | "None");
        let pdr = number(pdr, "pdr")?;
        if is_out_of_range {
            return Err(TraceErrorCause::Field("mean_rssi"));
        }
        if !(0.0..=1.0).contains(&pdr) {
            return Err(TraceErrorCause::Field("pdr"));
        }
        let tx_count = optional(tx_count, "tx_count")?;
        if src == dst || src.max(dst) >= header.node_count {
            return Err(TraceErrorCause::Node);
        }
        if channel.is_some_and(|channel| !header.channels.contains(&channel)) {
            return Err(TraceErrorCause::Channel);
        }
        if datetime < header.start_date || datetime > header.stop_date {
            return Err(TraceErrorCause::Time);
        }
        Ok(Self { datetime, src, dst, channel, mean_rssi, pdr, tx_count })
    }
}

fn number<T: FromStr>(text: &str, column: &'static str) -> Result<T, TraceErrorCause> {
    // Rust reads "+1", "inf" and the like, too.
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.' | b'e'));
    text.parse().ok().filter(|_| is_plain).ok_or(TraceErrorCause::Field(column))
}

fn optional<T: FromStr>(text: &str, column: &'static str) -> Result<Option<T>, TraceErrorCause> {
    if text.is_empty() { Ok(None) } else { number(text, column).map(Some) }
}

/// Writes a trace as a file.
impl fmt::Display for Trace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Header { tx_length, stop_date, channels, location, node_count, start_date, interframe_duration } =
            &self.header;
        let location = serde_json::Value::from(location.as_str());
        write!(out, "{{\"tx_length\": {tx_length}, \"stop_date\": \"{stop_date}\", \"channels\": {channels:?}, ")?;
        write!(out, "\"location\": {location}, \"node_count\": {node_count}, \"start_date\": \"{start_date}\", ")?;
        writeln!(out, "\"interframe_duration\": {interframe_duration}}}\n{COLUMNS}")?;
        for Row { datetime, src, dst, channel, mean_rssi, pdr, tx_count } in &self.rows {
            write!(out, "{datetime},{src},{dst},")?;
            channel.iter().try_for_each(|channel| write!(out, "{channel}"))?;
            out.write_str(",")?;
            mean_rssi.iter().try_for_each(|rssi| write!(out, "{rssi:?}"))?;
            write!(out, ",{pdr:?},")?;
            tx_count.iter().try_for_each(|count| write!(out, "{count}"))?;
            writeln!(out)?;
        }
        Ok(())
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: ", self.line)?;
        match &self.cause {
            TraceErrorCause::Header(cause) => write!(out, "the first line must be the header in JSON: {cause}"),
            TraceErrorCause::Channels => out.write_str("\"channels\" must be numbers from 11 to 26, each once"),
            TraceErrorCause::Dates => out.write_str("\"stop_date\" must not be before \"start_date\""),
            TraceErrorCause::Columns => write!(out, "the second line must be \"{COLUMNS}\""),
            TraceErrorCause::Fields(count) => write!(out, "there must be 7 fields, and there are {count}"),
            TraceErrorCause::Field("datetime") => write!(out, "datetime {}", moment::MUST_BE),
            TraceErrorCause::Field("pdr") => out.write_str("pdr must be a number from 0 to 1"),
            TraceErrorCause::Field("mean_rssi") => out.write_str("mean_rssi must be a number of dBm, None or nothing"),
            TraceErrorCause::Field(column @ ("channel" | "tx_count")) => {
                write!(out, "{column} must be a whole number, or nothing")
            }
            TraceErrorCause::Field(column) => write!(out, "{column} must be a whole number"),
            TraceErrorCause::Node => {
                out.write_str("src and dst must be two numbers below \"node_count\", and not the same")
            }
            TraceErrorCause::Channel => out.write_str("the channel must be one of \"channels\", or nothing"),
            TraceErrorCause::Time => {
                out.write_str("datetime must not be before the one above, and from \"start_date\" to \"stop_date\"")
            }
        }
    }
}

impl core::error::Error for TraceError {}

/// The second line.
const COLUMNS: &str = "datetime,src,dst,channel,mean_rssi,pdr,tx_count";

#[cfg(test)]
mod tests;
