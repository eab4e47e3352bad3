//! A balancer for TCP: a connection goes to the next service in turn that takes it, over a link of that service.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::{TcpListener, TcpStream};

use super::link::Link;
use crate::web::text;

/// A balancer, which ends with its runtime.
#[derive(Clone)]
pub(super) struct Balancer {
    address: SocketAddr,
    services: Arc<Mutex<Vec<(SocketAddr, Link)>>>,
}

impl Balancer {
    /// Starts a balancer that knows no service yet.
    pub(super) async fn start() -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(text)?;
        let this = Self { address: listener.local_addr().map_err(text)?, services: Arc::default() };
        let (balancer, turn) = (this.clone(), Arc::new(AtomicUsize::new(0)));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (balancer, turn) = (balancer.clone(), turn.clone());
                tokio::spawn(async move { balancer.carry(client, turn.fetch_add(1, Relaxed)).await });
            }
        });
        Ok(this)
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets where the services are.
    pub(super) fn lead_to(&self, services: Vec<(SocketAddr, Link)>) {
        *self.services.lock().unwrap_or_else(PoisonError::into_inner) = services;
    }

    async fn carry(&self, client: TcpStream, turn: usize) {
        let services = self.services.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for offset in 0..services.len() {
            let (address, link) = &services[(turn + offset) % services.len()];
            link.whole().await;
            // One that was killed refuses.
            if let Ok(service) = TcpStream::connect(address).await {
                let _ = (client.set_nodelay(true), service.set_nodelay(true)); // without, it is slower and works
                return link.carry(client, service).await;
            }
        }
    }
}
