//! Private keys and stores that answer later are awaited: the other connections go on meanwhile.

use alloc::sync::Arc;
use core::pin::Pin;

use terse_tls::SignatureRequest;
use terse_tls::cache::{StoreAnswer, StoreRequest};
use terse_tls::crypto::CryptoError;

/// An answer that is awaited.
pub type Answer<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A function that signs with a private key elsewhere, such as a key server. It is asked when the key's own answer is
/// [`Signing::Pending`](terse_tls::crypto::Signing::Pending).
pub type AsyncSigner = Arc<dyn Fn(SignatureRequest) -> Answer<Result<Vec<u8>, CryptoError>> + Send + Sync>;

/// A function that asks a store elsewhere, such as a database. It is asked when the store's own answer is
/// [`Poll::Pending`](core::task::Poll::Pending).
pub type AsyncStore = Arc<dyn Fn(StoreRequest) -> Answer<StoreAnswer> + Send + Sync>;
