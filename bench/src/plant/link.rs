//! What is on the way between two, which can be cut for a while: then nothing arrives, and nobody is told.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, split};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

use crate::web::text;

/// A link. A clone is the same one.
#[derive(Clone)]
pub(super) struct Link {
    is_whole: Arc<watch::Sender<bool>>,
    kept_back: Arc<AtomicU64>,
}

impl Link {
    /// Returns one that is whole.
    pub(super) fn new() -> Self {
        Self { is_whole: Arc::new(watch::channel(true).0), kept_back: Arc::default() }
    }

    /// Keeps back what is sent from now on.
    pub(super) fn cut(&self) {
        self.is_whole.send_replace(false);
    }

    /// Lets everything arrive, also what was kept back.
    pub(super) fn mend(&self) {
        self.is_whole.send_replace(true);
    }

    /// Waits until the link is whole.
    pub(super) async fn whole(&self) {
        let _ = self.is_whole.subscribe().wait_for(|is_whole| *is_whole).await; // the sender is here
    }

    /// Returns how many bytes it has kept back.
    pub(super) fn kept_back(&self) -> u64 {
        self.kept_back.load(Relaxed)
    }

    /// Carries the bytes of both until one of them ends.
    pub(super) async fn carry(&self, one: impl AsyncRead + AsyncWrite, other: impl AsyncRead + AsyncWrite) {
        let ((from_one, to_one), (from_other, to_other)) = (split(one), split(other));
        tokio::select! {
            () = self.copy(from_one, to_other) => {}
            () = self.copy(from_other, to_one) => {}
        }
    }

    async fn copy(&self, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
        let mut bytes = vec![0; 16_384];
        while let Ok(count @ 1..) = from.read(&mut bytes).await {
            if !*self.is_whole.borrow() {
                self.kept_back.fetch_add(count as u64, Relaxed);
                self.whole().await;
            }
            if to.write_all(&bytes[..count]).await.is_err() {
                return;
            }
        }
    }

    /// Carries what comes to a new socket in `folder` to `server`, a socket, under the same name.
    pub(super) fn to_socket(&self, server: &Path, folder: &Path) -> Result<(), String> {
        let name = server.file_name().ok_or("a socket has a name")?;
        std::fs::create_dir_all(folder).map_err(text)?;
        let listener = UnixListener::bind(folder.join(name)).map_err(text)?;
        let (link, server) = (self.clone(), server.to_owned());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (link, server) = (link.clone(), server.clone());
                tokio::spawn(async move {
                    link.whole().await;
                    if let Ok(server) = UnixStream::connect(server).await {
                        link.carry(client, server).await;
                    }
                });
            }
        });
        Ok(())
    }
}
