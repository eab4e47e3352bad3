//! A relay between registrar and MASA that counts the bytes of each connection.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::Leg;
use crate::web::text;

/// A relay, which ends with the process.
pub(super) struct Relay {
    port: u16,
    connections: Arc<Mutex<Vec<Arc<Connection>>>>,
}

struct Connection {
    begin: Instant,
    /// When both sides had closed it.
    end: Mutex<Option<Instant>>,
    sent: AtomicU64,
    received: AtomicU64,
}

impl Relay {
    /// Starts a relay to the MASA at `masa`.
    pub(super) fn start(masa: SocketAddr) -> Result<Self, String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(text)?;
        let port = listener.local_addr().map_err(text)?.port();
        let connections = Arc::new(Mutex::new(Vec::new()));
        let known = connections.clone();
        thread::spawn(move || {
            for registrar in listener.incoming().flatten() {
                let Ok(masa) = TcpStream::connect(masa) else { continue };
                let (sent, received) = (AtomicU64::new(0), AtomicU64::new(0));
                let connection = Connection { begin: Instant::now(), end: Mutex::default(), sent, received };
                let connection = Arc::new(connection);
                lock(&known).push(connection.clone());
                thread::spawn(move || connection.carry(&registrar, &masa));
            }
        });
        Ok(Self { port, connections })
    }

    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// Returns what the connections since the last call have carried, when all are closed.
    pub(super) fn take(&self) -> Result<Vec<Leg>, String> {
        let deadline = Instant::now() + LIMIT;
        loop {
            let legs: Option<Vec<Leg>> = lock(&self.connections).iter().map(|one| one.leg()).collect();
            match legs {
                Some(legs) => {
                    lock(&self.connections).clear();
                    return Ok(legs);
                }
                None if Instant::now() > deadline => {
                    return Err("the registrar does not close its connection to the MASA".into());
                }
                None => thread::sleep(Duration::from_millis(1)),
            }
        }
    }
}

impl Connection {
    /// Copies both ways, until both have ended.
    fn carry(&self, registrar: &TcpStream, masa: &TcpStream) {
        for stream in [registrar, masa] {
            let _ = stream.set_nodelay(true); // without it, it is slower and works
        }
        thread::scope(|scope| {
            scope.spawn(|| copy(registrar, masa, &self.sent));
            copy(masa, registrar, &self.received);
        });
        *lock(&self.end) = Some(Instant::now());
    }

    fn leg(&self) -> Option<Leg> {
        let ms = lock(&self.end).as_ref()?.duration_since(self.begin).as_secs_f64() * 1e3;
        Some(Leg { ms, sent: self.sent.load(Relaxed), received: self.received.load(Relaxed) })
    }
}

fn copy(mut from: &TcpStream, mut to: &TcpStream, count: &AtomicU64) {
    let mut buffer = [0; 16_384];
    while let Ok(len @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..len]).is_err() {
            break;
        }
        count.fetch_add(len as u64, Relaxed);
    }
    let _ = to.shutdown(Shutdown::Write); // it may be closed already
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The longest wait for the end of connections.
const LIMIT: Duration = Duration::from_secs(10);
