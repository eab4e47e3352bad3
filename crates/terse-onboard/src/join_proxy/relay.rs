//! A connection between a pledge and a registrar: bytes both ways, until both sides have ended, a limit is reached, or it makes room
//! for another one.
//!
//! What must always hold: bytes arrive in their order and unchanged; the end of one direction does not end the other one.

use core::convert::Infallible;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Evict, Limits};
use crate::places::Place;

/// The length of the buffer of each direction.
pub const BUFFER_LEN: usize = 4_096;

/// How a connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Both sides have closed it.
    Done { bytes: u64 },
    /// One side has broken it off.
    Broken { bytes: u64 },
    /// A limit was reached.
    CutOff { bytes: u64 },
    /// It has made room for another one.
    MadeRoom { bytes: u64 },
    /// There was no registrar to connect to.
    Unreachable,
}

/// The place of a connection.
pub(super) struct Seat {
    pub(super) place: Place<Evict>,
    /// Since when the times of places are counted.
    pub(super) start: Instant,
}

/// Copies until both sides have ended.
pub(super) async fn relay(
    mut pledge: TcpStream,
    mut registrar: TcpStream,
    limits: Limits,
    seat: Seat,
    evicted: oneshot::Receiver<Infallible>,
) -> Ended {
    for stream in [&pledge, &registrar] {
        let _ = stream.set_nodelay(true); // without it a handshake is slower, and works
    }
    let meter = Meter::new(limits.bytes, seat);
    let ((from_pledge, to_pledge), (from_registrar, to_registrar)) = (pledge.split(), registrar.split());
    let both = async {
        tokio::try_join!(
            copy(from_pledge, to_registrar, &meter, Side::Pledge),
            copy(from_registrar, to_pledge, &meter, Side::Registrar)
        )
    };
    let copied = tokio::select! {
        copied = both => Some(copied),
        () = meter.idle(limits.idle) => None,
        () = tokio::time::sleep(limits.total) => None,
        _ = evicted => return Ended::MadeRoom { bytes: meter.bytes.load(Relaxed) },
    };
    let bytes = meter.bytes.load(Relaxed);
    match copied {
        Some(Ok(_)) => Ended::Done { bytes },
        Some(Err(Stopped::Broken)) => Ended::Broken { bytes },
        Some(Err(Stopped::TooMuch)) | None => Ended::CutOff { bytes },
    }
}

/// Where bytes come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Pledge,
    Registrar,
}

/// Why one direction has stopped before its end.
enum Stopped {
    Broken,
    TooMuch,
}

impl From<io::Error> for Stopped {
    fn from(_: io::Error) -> Self {
        Self::Broken
    }
}

async fn copy(mut from: ReadHalf<'_>, mut to: WriteHalf<'_>, meter: &Meter, side: Side) -> Result<(), Stopped> {
    let mut buffer = vec![0; BUFFER_LEN];
    loop {
        let len = from.read(&mut buffer).await?;
        if len == 0 {
            return Ok(to.shutdown().await?);
        }
        if !meter.count(len, side) {
            return Err(Stopped::TooMuch);
        }
        to.write_all(&buffer[..len]).await?; // `read` returns at most the length of the buffer
    }
}

/// Counts the bytes of both directions, and notes when the last ones came.
struct Meter {
    begin: Instant,
    bytes: AtomicU64,
    max: u64,
    /// In milliseconds since the beginning.
    last: AtomicU64,
    seat: Seat,
    /// Whether the pledge has sent something since the registrar's last answer.
    has_asked: AtomicBool,
    answers: AtomicU64,
}

impl Meter {
    fn new(max: u64, seat: Seat) -> Self {
        let (bytes, last, answers) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        Self { begin: Instant::now(), bytes, max, last, seat, has_asked: AtomicBool::new(false), answers }
    }

    /// Counts bytes that have come. Returns false if they are too many.
    fn count(&self, len: usize, side: Side) -> bool {
        match side {
            Side::Pledge => self.has_asked.store(true, Relaxed),
            Side::Registrar => self.note_answer(),
        }
        self.last.store(self.begin.elapsed().as_millis() as u64, Relaxed); // 584 million years
        self.bytes.fetch_add(len as u64, Relaxed) + len as u64 <= self.max
    }

    /// Only the registrar's bytes count for the place: a stranger sends as many as it likes. A second answer of the registrar takes
    /// a client that goes on with its handshake.
    fn note_answer(&self) {
        self.seat.place.active(self.seat.start.elapsed());
        if self.has_asked.swap(false, Relaxed) && self.answers.fetch_add(1, Relaxed) == 1 {
            self.seat.place.prove();
        }
    }

    /// Waits until nothing has come for a time.
    async fn idle(&self, limit: Duration) {
        loop {
            let last = self.last.load(Relaxed);
            tokio::time::sleep_until(self.begin + Duration::from_millis(last) + limit).await;
            if self.last.load(Relaxed) == last {
                return;
            }
        }
    }
}
