//! The functions that compilers call to copy, fill and compare memory, in assembly: 160 bytes, where those of the language take
//! 3 kB. newlib-nano, which the peers are linked with, has small ones as well.

#![allow(unsafe_code)]

core::arch::global_asm!(include_str!("memory.s"));
