//! The routines in assembly, and all `unsafe` of this crate: a routine of another language can be called in no other way, and a
//! register cleared in no other.
//!
//! What holds for every call: a [`Number`] is eight words at an address aligned to words, which is what the routines take
//! for each number; outputs are exclusive borrows, so that they overlap no input; hashes are given with their length. The
//! routines keep no pointer and have no state. As their authors document (`p256-cortex-m4.h`), code that processes secrets
//! runs in constant time, and each that takes a point checks that it is on the curve. Not each checks the range of its
//! scalar: what is secret is a [`Scalar`] here. What the routines leave on the stack and in registers is for their caller to wipe.

#![allow(unsafe_code)]

use p256_cortex_m4_sys::{
    P256_check_range_n, p256_ecdh_calc_shared_secret, p256_keygen, p256_octet_string_to_point, p256_sign, p256_verify,
};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::number::{Number, Point};

/// A number from 1 to n - 1, where n is the order of the curve: a private key, or a nonce.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Scalar(Number);

impl Scalar {
    /// Reads a scalar from its 32 bytes, the most significant first. Returns `None` if it is out of range.
    pub(crate) fn from_be_bytes(bytes: &[u8; 32]) -> Option<Self> {
        let number = Number::from_be_bytes(bytes);
        // SAFETY: the input is eight words.
        let is_in_range = unsafe { P256_check_range_n(number.0.as_ptr()) };
        is_in_range.then_some(Self(number))
    }

    /// Returns the public key of this private key.
    pub(crate) fn public_key(&self) -> Option<Point> {
        let mut point = Point::default();
        // SAFETY: both outputs and the input are eight words each, and no two are the same.
        let is_done = unsafe { p256_keygen(point.x.0.as_mut_ptr(), point.y.0.as_mut_ptr(), self.0.0.as_ptr()) };
        is_done.then_some(point)
    }

    /// Writes the x-coordinate of the product of this private key and a peer's point to `secret`, the most significant
    /// byte first. Returns `None`, and leaves zeros, if the point is not on the curve.
    pub(crate) fn multiply(&self, point: &Point, secret: &mut [u8; 32]) -> Option<()> {
        // SAFETY: the output is 32 bytes, for which no alignment is needed; the inputs are eight words each. The scalar is
        // in range, as is its type.
        let is_done = unsafe {
            p256_ecdh_calc_shared_secret(secret.as_mut_ptr(), self.0.0.as_ptr(), point.x.0.as_ptr(), point.y.0.as_ptr())
        };
        if !is_done {
            secret.fill(0);
        }
        is_done.then_some(())
    }

    /// Signs a hash with the nonce `k` (FIPS 186-5, 6.4.1), which must be secret and new. Returns r and s, or `None` if
    /// one of them would be zero: try another nonce then.
    pub(crate) fn sign(&self, hash: &[u8; 32], k: &Self) -> Option<[Number; 2]> {
        let [mut r, mut s] = [Number::default(), Number::default()];
        // SAFETY: both outputs, the private key and the nonce are eight words each, and the outputs are not the same. The
        // hash is 32 bytes, as is said.
        let is_done = unsafe {
            p256_sign(r.0.as_mut_ptr(), s.0.as_mut_ptr(), hash.as_ptr(), 32, self.0.0.as_ptr(), k.0.0.as_ptr())
        };
        is_done.then_some([r, s])
    }
}

impl Point {
    /// Reads a point from its compressed or uncompressed form (SEC 1, 2.3.4). Returns `None` if it is not on the curve, if a
    /// coordinate is not reduced, and for any other form.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        // RFC 5480, 2.2: there is no hybrid form, which the routine would take.
        let ((0x04, 65) | (0x02 | 0x03, 33)) = (*bytes.first()?, bytes.len()) else { return None };
        let mut point = Self::default();
        // SAFETY: both outputs are eight words each, and not the same. The input has 33 or 65 bytes, as is said.
        let is_on_curve = unsafe {
            p256_octet_string_to_point(
                point.x.0.as_mut_ptr(),
                point.y.0.as_mut_ptr(),
                bytes.as_ptr(),
                bytes.len() as u32,
            )
        };
        is_on_curve.then_some(point)
    }

    /// Whether r and s are this public key's signature of a hash, of which the first 32 bytes count (FIPS 186-5, 6.4.2).
    pub(crate) fn verifies(&self, hash: &[u8], [r, s]: &[Number; 2]) -> bool {
        let hash = hash.get(..32).unwrap_or(hash);
        // SAFETY: the coordinates and the two numbers are eight words each, and the hash has as many bytes as is said: 32 at
        // most.
        unsafe {
            p256_verify(
                self.x.0.as_ptr(),
                self.y.0.as_ptr(),
                hash.as_ptr(),
                hash.len() as u32,
                r.0.as_ptr(),
                s.0.as_ptr(),
            )
        }
    }
}

/// Clears the registers of the FPU in which the routines have intermediate values, s0 to s15: a function need not restore them, and
/// none may come to overwrite them. Without hardware floats the routines do not use them.
pub(crate) fn clear_float_registers() {
    // SAFETY: the instructions change these registers alone, which are declared as changed.
    #[cfg(target_abi = "eabihf")]
    unsafe {
        core::arch::asm!(
            "vmov d0, {zero}, {zero}",
            "vmov d1, {zero}, {zero}",
            "vmov d2, {zero}, {zero}",
            "vmov d3, {zero}, {zero}",
            "vmov d4, {zero}, {zero}",
            "vmov d5, {zero}, {zero}",
            "vmov d6, {zero}, {zero}",
            "vmov d7, {zero}, {zero}",
            zero = in(reg) 0,
            out("s0") _, out("s1") _, out("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _, out("s7") _,
            out("s8") _, out("s9") _, out("s10") _, out("s11") _, out("s12") _, out("s13") _, out("s14") _, out("s15") _,
            options(nostack, preserves_flags),
        );
    }
}
