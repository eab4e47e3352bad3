//! One connection of HTTP/1.1, with its place and its time limits.
//!
//! What must always hold: it ends when its time is over, when it makes room for another one, or when its client has ended it,
//! whether it reads, writes or waits.

use alloc::sync::Arc;
use core::convert::Infallible;
use core::fmt;
use core::future::poll_fn;
use core::net::IpAddr;
use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use core::time::Duration;
use std::io::{self, IoSlice};
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::{Request, Response, StatusCode};
use hyper::body::{Body, Incoming};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::Service;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep_until};

use super::Rules;
use crate::places::{Origin, Place, Table};
use crate::stop::stopped;
use crate::times::Timer;

/// An extension of a response: the request has shown what no stranger can, and its connection makes room after others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proven;

/// The places of a listener.
pub(crate) struct Entrance {
    rules: Rules,
    start: Instant,
    table: Arc<Table<Evict>>,
}

/// Whoever drops this ends a connection.
type Evict = oneshot::Sender<Infallible>;

/// A connection that has a place.
pub(crate) struct Admitted {
    shared: Arc<Shared>,
    evicted: oneshot::Receiver<Infallible>,
    has_one_request: bool,
}

/// What the parts of a connection share.
struct Shared {
    start: Instant,
    place: Place<Evict>,
    timer: Mutex<Timer>,
}

/// How a connection has ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// As its client, or the service, wanted.
    Done,
    /// It failed.
    Failed(hyper::Error),
    /// It has made room for another one.
    Evicted,
    /// Its time was over.
    TimedOut,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::Failed(error) => error.fmt(f),
            Self::Evicted => f.write_str("it made room for another one"),
            Self::TimedOut => f.write_str("its time was over"),
        }
    }
}

impl Entrance {
    pub(crate) fn new(rules: Rules) -> Self {
        Self { rules, start: Instant::now(), table: Table::new(rules.capacity) }
    }

    /// Gives a connection from this address a place, for which another one may make room.
    pub(crate) fn admit(&self, address: IpAddr) -> Admitted {
        let now = self.start.elapsed();
        let (evict, evicted) = oneshot::channel();
        let (place, victim) = Table::enter(&self.table, now, Origin::of(address), evict);
        drop(victim); // which wakes its task
        let timer = Mutex::new(Timer::new(self.rules.times, now));
        let shared = Arc::new(Shared { start: self.start, place, timer });
        Admitted { shared, evicted, has_one_request: self.rules.has_one_request }
    }
}

impl Admitted {
    /// Answers the requests of a connection. When `stop` becomes true, the one under way is the last.
    pub(crate) async fn serve<I, S, B>(self, stream: I, service: S, mut stop: watch::Receiver<bool>) -> Ended
    where
        I: Read + Write + Unpin,
        S: Service<Request<Incoming>, Response = Response<B>>,
        S::Error: Into<Box<dyn core::error::Error + Send + Sync>>,
        B: Body + 'static,
        B::Error: Into<Box<dyn core::error::Error + Send + Sync>>,
    {
        let Self { shared, mut evicted, has_one_request } = self;
        let (stream, service) = (Timed { stream, shared: shared.clone() }, Noted { service, shared: shared.clone() });
        let connection = http1::Builder::new()
            .header_read_timeout(None) // the timer is another one
            .max_buf_size(MAX_HEAD)
            .keep_alive(!has_one_request)
            .serve_connection(stream, service);
        let mut connection = pin!(connection);
        let mut stopping = pin!(stopped(&mut stop));
        let mut is_stopping = false;
        let mut alarm = pin!(sleep_until(shared.deadline()));
        poll_fn(|cx| {
            if !is_stopping && stopping.as_mut().poll(cx).is_ready() {
                is_stopping = true;
                connection.as_mut().graceful_shutdown();
            }
            if let Poll::Ready(ended) = connection.as_mut().poll(cx) {
                return Poll::Ready(ended.map_or_else(Ended::Failed, |()| Ended::Done));
            }
            if Pin::new(&mut evicted).poll(cx).is_ready() {
                return Poll::Ready(Ended::Evicted);
            }
            // What was polled above may have changed it.
            let deadline = shared.deadline();
            if alarm.deadline() != deadline {
                alarm.as_mut().reset(deadline);
            }
            alarm.as_mut().poll(cx).map(|()| Ended::TimedOut)
        })
        .await
    }
}

impl Shared {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn deadline(&self) -> Instant {
        self.start + self.timer().deadline()
    }

    /// Nothing panics while it is locked.
    fn timer(&self) -> MutexGuard<'_, Timer> {
        self.timer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answered<B>(&self, response: &Response<B>) {
        let now = self.now();
        if response.extensions().get::<Proven>().is_some() {
            self.place.prove();
        }
        self.place.active(now);
        self.timer().answer(now, response.status() == StatusCode::ACCEPTED);
    }

    /// Notes whether the client has taken what was written.
    fn note_write<T>(&self, written: Poll<T>, is_flush: bool) -> Poll<T> {
        match written {
            Poll::Pending => self.timer().write_waits(self.now()),
            Poll::Ready(_) if is_flush => self.timer().written(),
            Poll::Ready(_) => {}
        }
        written
    }
}

/// A service whose requests and answers are noted.
struct Noted<S> {
    service: S,
    shared: Arc<Shared>,
}

impl<S, B> Service<Request<Incoming>> for Noted<S>
where
    S: Service<Request<Incoming>, Response = Response<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        self.shared.timer().begin_request();
        Answering { answer: Box::pin(self.service.call(request)), shared: self.shared.clone() }
    }
}

/// An answer that will be noted.
struct Answering<F> {
    answer: Pin<Box<F>>,
    shared: Arc<Shared>,
}

impl<F: Future<Output = Result<Response<B>, E>>, B, E> Future for Answering<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = self.answer.as_mut().poll(cx);
        if let Poll::Ready(Ok(response)) = &answer {
            self.shared.answered(response);
        }
        answer
    }
}

/// A stream at which it is noted whether the client takes what is sent to it.
struct Timed<I> {
    stream: I,
    shared: Arc<Shared>,
}

impl<I: Read + Unpin> Read for Timed<I> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, out: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, out)
    }
}

impl<I: Write + Unpin> Write for Timed<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, data);
        self.shared.note_write(written, false)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.shared.note_write(written, false)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.shared.note_write(flushed, true)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.shared.note_write(shut, true)
    }
}

/// The most bytes of a connection that wait to be read as the head of a request, and as many that wait to be written.
const MAX_HEAD: usize = 16_384;
