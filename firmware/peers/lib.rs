//! Nothing is built of this.
