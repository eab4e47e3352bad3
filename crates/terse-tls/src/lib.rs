//! TLS for devices that pay for every byte.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod crypto;
mod wire;

pub use wire::{
    AlertDescription, CachedInformationType, CipherSuite, ContentType, ExtensionType, HandshakeType, NamedGroup,
    ProtocolVersion, SignatureScheme,
};
