//! The operations in the groups of identity keys: ristretto255 of `curve25519-dalek`, and BLS12-381 of `blst`, with the
//! conversions between forms of points that `terse-ibc` has around them.
#![allow(unsafe_code)] // blst is written in C and assembly

use std::hint::black_box;

use blst::{
    blst_final_exp, blst_fp12, blst_hash_to_g1, blst_hash_to_g2, blst_miller_loop, blst_p1, blst_p1_affine,
    blst_p1_from_affine, blst_p1_mult, blst_p1_to_affine, blst_p2, blst_p2_affine, blst_p2_from_affine, blst_p2_mult,
    blst_p2_to_affine, blst_scalar, blst_scalar_from_be_bytes,
};
use curve25519_dalek::ristretto::RistrettoPoint;
use curve25519_dalek::scalar::Scalar;
use terse_net::OsRng;
use terse_sim::computing::Operation;
use terse_tls::crypto::Rng;

use super::Timed;

/// Returns the operations in both groups.
pub(super) fn operations() -> Result<Vec<Timed>, String> {
    let mut wide = [0; 64];
    OsRng.fill(&mut wide).map_err(|error| error.to_string())?;
    Ok([of_ristretto255(&wide), of_bls12381(&wide)].into_iter().flatten().collect())
}

fn timed<T>(operation: Operation, call: impl Fn() -> T + 'static) -> Timed {
    Timed::new(operation, move || {
        black_box(call());
        Ok(())
    })
}

fn of_ristretto255(wide: &[u8; 64]) -> Vec<Timed> {
    let scalar = Scalar::from_bytes_mod_order_wide(wide);
    let point = RistrettoPoint::mul_base(&scalar);
    vec![
        timed(Operation::Ristretto255MultiplyBase, move || RistrettoPoint::mul_base(&scalar).compress()),
        timed(Operation::Ristretto255Multiply, move || (scalar * point).compress()),
    ]
}

/// The number of bits of a scalar.
const SCALAR_BITS: usize = 255;

/// Returns a scalar below the order: for others blst has a slower way.
fn reduced(wide: &[u8; 64]) -> [u8; 32] {
    let mut scalar = blst_scalar::default();
    // SAFETY: the input has the given length.
    unsafe { blst_scalar_from_be_bytes(&mut scalar, wide.as_ptr(), wide.len()) };
    scalar.b
}

fn of_bls12381(wide: &[u8; 64]) -> Vec<Timed> {
    let scalar = reduced(wide);
    let (g1, g2) = (hash_to_g1(b"point"), hash_to_g2(b"point"));
    vec![
        timed(Operation::Bls12381G1Multiply, move || multiply_g1(&g1, &scalar)),
        timed(Operation::Bls12381G2Multiply, move || multiply_g2(&g2, &scalar)),
        timed(Operation::Bls12381HashToG1, || hash_to_g1(b"device:broker01")),
        timed(Operation::Bls12381HashToG2, || hash_to_g2(b"device:broker01")),
        timed(Operation::Pairing, move || pairing(&g1, &g2)),
    ]
}

fn multiply_g1(point: &blst_p1_affine, scalar: &[u8; 32]) -> blst_p1_affine {
    let (mut projective, mut product) = (blst_p1::default(), blst_p1::default());
    let mut affine = blst_p1_affine::default();
    // SAFETY: all are values of this program, and a scalar has 32 bytes, of which 255 bits are read.
    unsafe {
        blst_p1_from_affine(&mut projective, point);
        blst_p1_mult(&mut product, &projective, scalar.as_ptr(), SCALAR_BITS);
        blst_p1_to_affine(&mut affine, &product);
    }
    affine
}

fn multiply_g2(point: &blst_p2_affine, scalar: &[u8; 32]) -> blst_p2_affine {
    let (mut projective, mut product) = (blst_p2::default(), blst_p2::default());
    let mut affine = blst_p2_affine::default();
    // SAFETY: as above.
    unsafe {
        blst_p2_from_affine(&mut projective, point);
        blst_p2_mult(&mut product, &projective, scalar.as_ptr(), SCALAR_BITS);
        blst_p2_to_affine(&mut affine, &product);
    }
    affine
}

/// A domain of hashes to points, as long as those of `terse-ibc`: with 32 bytes of its authority.
const DOMAIN: &[u8; 82] = &[b'D'; 82];

fn hash_to_g1(message: &[u8]) -> blst_p1_affine {
    let (mut point, mut affine) = (blst_p1::default(), blst_p1_affine::default());
    let nothing = core::ptr::null();
    // SAFETY: the lengths are those of the slices; there is no augmentation, whose pointer is not read then.
    unsafe {
        blst_hash_to_g1(&mut point, message.as_ptr(), message.len(), DOMAIN.as_ptr(), DOMAIN.len(), nothing, 0);
        blst_p1_to_affine(&mut affine, &point);
    }
    affine
}

fn hash_to_g2(message: &[u8]) -> blst_p2_affine {
    let (mut point, mut affine) = (blst_p2::default(), blst_p2_affine::default());
    let nothing = core::ptr::null();
    // SAFETY: as above.
    unsafe {
        blst_hash_to_g2(&mut point, message.as_ptr(), message.len(), DOMAIN.as_ptr(), DOMAIN.len(), nothing, 0);
        blst_p2_to_affine(&mut affine, &point);
    }
    affine
}

fn pairing(p: &blst_p1_affine, q: &blst_p2_affine) -> blst_fp12 {
    let (mut product, mut element) = (blst_fp12::default(), blst_fp12::default());
    // SAFETY: all are values of this program.
    unsafe {
        blst_miller_loop(&mut product, q, p);
        blst_final_exp(&mut element, &product);
    }
    element
}
