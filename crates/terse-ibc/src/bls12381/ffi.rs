//! The curve BLS12-381 by the library blst. This is the only file with `unsafe` code: blst is written in C and assembly,
//! and its Rust bindings are functions over raw pointers.
//!
//! What must always hold: every pointer that is passed is to a value of the right type that lives during the call, and
//! every length is that of its slice. Points leave this file only if they are in the subgroup of prime order; those that
//! may be secret, and pairings, are wiped.
#![allow(unsafe_code)]

use core::ops::{Deref, DerefMut};

use blst::{
    BLST_ERROR, blst_bendian_from_fp12, blst_bendian_from_scalar, blst_final_exp, blst_fp12, blst_hash_to_g1,
    blst_hash_to_g2, blst_miller_loop, blst_p1, blst_p1_affine, blst_p1_affine_compress, blst_p1_affine_generator,
    blst_p1_affine_in_g1, blst_p1_affine_is_inf, blst_p1_from_affine, blst_p1_generator, blst_p1_mult,
    blst_p1_to_affine, blst_p1_uncompress, blst_p2, blst_p2_affine, blst_p2_affine_compress, blst_p2_affine_in_g2,
    blst_p2_affine_is_inf, blst_p2_from_affine, blst_p2_mult, blst_p2_to_affine, blst_p2_uncompress, blst_scalar,
    blst_scalar_from_be_bytes, blst_scalar_from_bendian, blst_sk_check,
};
use zeroize::Zeroizing;

/// The lengths in bytes of scalars, and of points of G1 and G2 in compressed form.
pub(crate) const SCALAR_LEN: usize = 32;
pub(crate) const G1_LEN: usize = 48;
pub(crate) const G2_LEN: usize = 96;

/// The length in bytes of an element of GT.
pub(crate) const GT_LEN: usize = 576;

/// The number of bits of a scalar.
const SCALAR_BITS: usize = 255;

/// A struct of the C library that can be overwritten with zeros.
///
/// # Safety
///
/// The type is an array of integers: it owns nothing, and zeros are a value of it.
unsafe trait Flat: Default {}

// SAFETY: each is an array of `u64`.
unsafe impl Flat for blst_p1 {}
// SAFETY: as above.
unsafe impl Flat for blst_p2 {}
// SAFETY: as above.
unsafe impl Flat for blst_p1_affine {}
// SAFETY: as above.
unsafe impl Flat for blst_p2_affine {}
// SAFETY: as above.
unsafe impl Flat for blst_fp12 {}

/// A value of the C library that is wiped on drop.
#[derive(Clone)]
struct Wiped<T: Flat>(T);

impl<T: Flat> Wiped<T> {
    fn new() -> Self {
        Self(T::default())
    }
}

impl<T: Flat> Deref for Wiped<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Flat> DerefMut for Wiped<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Flat> Drop for Wiped<T> {
    fn drop(&mut self) {
        // SAFETY: this is what `Flat` promises.
        unsafe { zeroize::zeroize_flat_type(&mut self.0) }
    }
}

/// A scalar from 1 to the order minus 1, which is wiped on drop.
#[derive(Clone)]
pub(crate) struct Scalar(blst_scalar);

impl Scalar {
    /// Reduces 64 bytes, most significant first. Returns `None` for zero.
    pub(crate) fn from_wide(wide: &[u8; 64]) -> Option<Self> {
        let mut scalar = blst_scalar::default();
        // SAFETY: the input has the given length.
        unsafe { blst_scalar_from_be_bytes(&mut scalar, wide.as_ptr(), wide.len()) }.then_some(Self(scalar))
    }

    /// Decodes a scalar, most significant byte first. Returns `None` if it is zero or not below the order.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; SCALAR_LEN] = bytes.try_into().ok()?;
        let mut scalar = blst_scalar::default();
        // SAFETY: the input has the 32 bytes that are read.
        unsafe { blst_scalar_from_bendian(&mut scalar, bytes.as_ptr()) };
        // SAFETY: the scalar is a value that was just written.
        unsafe { blst_sk_check(&scalar) }.then_some(Self(scalar))
    }

    /// Encodes the scalar, most significant byte first.
    pub(crate) fn encode(&self) -> Zeroizing<[u8; SCALAR_LEN]> {
        let mut bytes = Zeroizing::new([0; SCALAR_LEN]);
        // SAFETY: the output has the 32 bytes that are written.
        unsafe { blst_bendian_from_scalar(bytes.as_mut_ptr(), &self.0) };
        bytes
    }

    /// Returns the bytes of the scalar, least significant first.
    fn as_ptr(&self) -> *const u8 {
        self.0.b.as_ptr()
    }
}

/// A point of G1 in the subgroup of prime order, and not the identity element. It is wiped on drop: those of a private key
/// are secret.
#[derive(Clone)]
pub(crate) struct G1(Wiped<blst_p1_affine>);

/// A point of G2 in the subgroup of prime order, and not the identity element. It is wiped on drop: those of a private key
/// are secret.
#[derive(Clone)]
pub(crate) struct G2(Wiped<blst_p2_affine>);

impl G1 {
    /// Decodes a point: canonical, on the curve, in the subgroup, and not the identity element.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; G1_LEN] = bytes.try_into().ok()?;
        let mut point = Wiped::<blst_p1_affine>::new();
        // SAFETY: the input has the 48 bytes that are read; the point is on the curve if there is no error.
        let is_valid = unsafe {
            blst_p1_uncompress(&mut *point, bytes.as_ptr()) == BLST_ERROR::BLST_SUCCESS
                && blst_p1_affine_in_g1(&*point)
                && !blst_p1_affine_is_inf(&*point)
        };
        is_valid.then_some(Self(point))
    }

    pub(crate) fn encode(&self) -> [u8; G1_LEN] {
        let mut bytes = [0; G1_LEN];
        // SAFETY: the output has the 48 bytes that are written.
        unsafe { blst_p1_affine_compress(bytes.as_mut_ptr(), &*self.0) };
        bytes
    }

    /// Returns the generator.
    pub(crate) fn generator() -> Self {
        // SAFETY: the function returns a pointer to a constant of the library.
        Self(Wiped(unsafe { *blst_p1_affine_generator() }))
    }

    /// Returns `scalar` times the generator.
    pub(crate) fn mul_generator(scalar: &Scalar) -> Self {
        // SAFETY: the generator is a constant of the library.
        Self::mul_projective(unsafe { &*blst_p1_generator() }, scalar)
    }

    /// Returns `scalar` times this point, which takes the same time for each scalar.
    pub(crate) fn mul(&self, scalar: &Scalar) -> Self {
        let mut projective = Wiped::<blst_p1>::new();
        // SAFETY: both are values of this program.
        unsafe { blst_p1_from_affine(&mut *projective, &*self.0) };
        Self::mul_projective(&projective, scalar)
    }

    fn mul_projective(point: &blst_p1, scalar: &Scalar) -> Self {
        let (mut product, mut affine) = (Wiped::<blst_p1>::new(), Wiped::<blst_p1_affine>::new());
        // SAFETY: a scalar has 32 bytes, of which 255 bits are read.
        unsafe {
            blst_p1_mult(&mut *product, point, scalar.as_ptr(), SCALAR_BITS);
            blst_p1_to_affine(&mut *affine, &*product);
        }
        Self(affine) // of prime order, and the scalar is neither zero nor the order
    }

    /// `hash_to_curve` of RFC 9380, which never gives the identity element in practice.
    pub(crate) fn hash(message: &[u8], dst: &[u8]) -> Self {
        let (mut point, mut affine) = (blst_p1::default(), Wiped::<blst_p1_affine>::new());
        // SAFETY: the lengths are those of the slices; there is no augmentation, whose pointer is not read then.
        unsafe {
            let nothing = core::ptr::null();
            blst_hash_to_g1(&mut point, message.as_ptr(), message.len(), dst.as_ptr(), dst.len(), nothing, 0);
            blst_p1_to_affine(&mut *affine, &point);
        }
        Self(affine)
    }
}

impl G2 {
    /// Decodes a point: canonical, on the curve, in the subgroup, and not the identity element.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; G2_LEN] = bytes.try_into().ok()?;
        let mut point = Wiped::<blst_p2_affine>::new();
        // SAFETY: the input has the 96 bytes that are read; the point is on the curve if there is no error.
        let is_valid = unsafe {
            blst_p2_uncompress(&mut *point, bytes.as_ptr()) == BLST_ERROR::BLST_SUCCESS
                && blst_p2_affine_in_g2(&*point)
                && !blst_p2_affine_is_inf(&*point)
        };
        is_valid.then_some(Self(point))
    }

    pub(crate) fn encode(&self) -> [u8; G2_LEN] {
        let mut bytes = [0; G2_LEN];
        // SAFETY: the output has the 96 bytes that are written.
        unsafe { blst_p2_affine_compress(bytes.as_mut_ptr(), &*self.0) };
        bytes
    }

    /// Returns `scalar` times this point, which takes the same time for each scalar.
    pub(crate) fn mul(&self, scalar: &Scalar) -> Self {
        let (mut point, mut product) = (Wiped::<blst_p2>::new(), Wiped::<blst_p2>::new());
        let mut affine = Wiped::<blst_p2_affine>::new();
        // SAFETY: all are values of this program, and a scalar has 32 bytes, of which 255 bits are read.
        unsafe {
            blst_p2_from_affine(&mut *point, &*self.0);
            blst_p2_mult(&mut *product, &*point, scalar.as_ptr(), SCALAR_BITS);
            blst_p2_to_affine(&mut *affine, &*product);
        }
        Self(affine)
    }

    /// `hash_to_curve` of RFC 9380, which never gives the identity element in practice.
    pub(crate) fn hash(message: &[u8], dst: &[u8]) -> Self {
        let (mut point, mut affine) = (blst_p2::default(), Wiped::<blst_p2_affine>::new());
        // SAFETY: the lengths are those of the slices; there is no augmentation, whose pointer is not read then.
        unsafe {
            let nothing = core::ptr::null();
            blst_hash_to_g2(&mut point, message.as_ptr(), message.len(), dst.as_ptr(), dst.len(), nothing, 0);
            blst_p2_to_affine(&mut *affine, &point);
        }
        Self(affine)
    }
}

/// Returns the pairing of two points, encoded.
pub(crate) fn pairing(p: &G1, q: &G2) -> Zeroizing<[u8; GT_LEN]> {
    let (mut product, mut element) = (Wiped::<blst_fp12>::new(), Wiped::<blst_fp12>::new());
    let mut bytes = Zeroizing::new([0; GT_LEN]);
    // SAFETY: all are values of this program, and the output has the 576 bytes that are written.
    unsafe {
        blst_miller_loop(&mut *product, &*q.0, &*p.0);
        blst_final_exp(&mut *element, &*product);
        blst_bendian_from_fp12(bytes.as_mut_ptr(), &*element);
    }
    bytes
}
