//! The boards `mps2-an385` (Cortex-M3) and `mps2-an386` (Cortex-M4F), as QEMU has them: what images that test and measure
//! have in common.
//!
//! | module | content |
//! |---|---|
//! | [`heap`] | a heap with its memory, which counts the bytes in use |
//! | [`stack`] | how many bytes of stack a computation takes |
//! | [`instructions`] | how many instructions a computation takes |
//! | [`meter`], [`report`] | what a connection costs |
//! | [`ethernet`] | a network for datagrams, or for a stream |
//! | [`files`] | files of the computer that runs QEMU, as the device's flash |
//! | [`registers`] | what is in the registers of the FPU, where there is one |
//! | [`end`] | the end of an image: how the run ended, and the report of a panic |
//!
//! Text goes to the computer that runs QEMU, by [`println!`]. `run` in this folder starts QEMU as all of this needs it. On
//! a computer this crate is empty.
#![cfg_attr(target_os = "none", no_std)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
extern crate alloc;

#[cfg(target_os = "none")]
pub mod end;
#[cfg(target_os = "none")]
pub mod ethernet;
#[cfg(target_os = "none")]
pub mod files;
#[cfg(target_os = "none")]
pub mod heap;
#[cfg(target_os = "none")]
pub mod instructions;
#[cfg(target_os = "none")]
pub mod meter;
#[cfg(all(target_os = "none", target_abi = "eabihf"))]
pub mod registers;
#[cfg(target_os = "none")]
pub mod report;
#[cfg(target_os = "none")]
pub mod stack;

#[cfg(target_os = "none")]
pub use cortex_m_semihosting::hprintln as println;
