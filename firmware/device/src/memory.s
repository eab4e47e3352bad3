// The functions that compilers call to copy, fill and compare memory: small, where those of the language are fast. Words need no
// alignment on a Cortex-M3 or M4 (Armv7-M Architecture Reference Manual, A3.2.1).
//
// The names with __aeabi are those of the run-time ABI for the Arm architecture (RTABI32, 5.3.2), in which the functions return
// nothing, and the length comes before the value.

.syntax unified

.macro function section, names:vararg
    .section .text.\section, "ax", %progbits
    .irp name, \names
    .global \name
    .type \name, %function
    .thumb_func
\name:
    .endr
.endm

// memcpy(r0 = to, r1 = from, r2 = length)
function memcpy, memcpy, __aeabi_memcpy, __aeabi_memcpy4, __aeabi_memcpy8
    mov     r12, r0
    subs    r2, #4
    blo     2f
1:  ldr     r3, [r1], #4
    str     r3, [r12], #4
    subs    r2, #4
    bhs     1b
2:  adds    r2, #4
    beq     4f
3:  ldrb    r3, [r1], #1
    strb    r3, [r12], #1
    subs    r2, #1
    bne     3b
4:  bx      lr

// memmove(r0 = to, r1 = from, r2 = length): backwards if the end of what is read would be overwritten first
function memmove, memmove, __aeabi_memmove, __aeabi_memmove4, __aeabi_memmove8
    subs    r3, r0, r1
    cmp     r3, r2
    bhs.w   memcpy
    add     r1, r2
    add     r12, r0, r2
1:  subs    r2, #1
    blo     2f
    ldrb    r3, [r1, #-1]!
    strb    r3, [r12, #-1]!
    b       1b
2:  bx      lr

// __aeabi_memclr(r0 = place, r1 = length), __aeabi_memset(r0 = place, r1 = length, r2 = value), memset(r0 = place, r1 = value, r2 = length)
function memset, __aeabi_memclr, __aeabi_memclr4, __aeabi_memclr8
    movs    r2, #0
    .irp name, __aeabi_memset, __aeabi_memset4, __aeabi_memset8
    .global \name
    .type \name, %function
    .thumb_func
\name:
    .endr
    mov     r3, r1
    mov     r1, r2
    mov     r2, r3
    .global memset
    .type memset, %function
    .thumb_func
memset:
    uxtb    r1, r1
    orr     r1, r1, r1, lsl #8
    orr     r1, r1, r1, lsl #16
    mov     r12, r0
    subs    r2, #4
    blo     2f
1:  str     r1, [r12], #4
    subs    r2, #4
    bhs     1b
2:  adds    r2, #4
    beq     4f
3:  strb    r1, [r12], #1
    subs    r2, #1
    bne     3b
4:  bx      lr

// memcmp(r0, r1, r2 = length)
function memcmp, memcmp, bcmp
1:  subs    r2, #1
    blo     2f
    ldrb    r3, [r0], #1
    ldrb    r12, [r1], #1
    cmp     r3, r12
    beq     1b
    sub     r0, r3, r12
    bx      lr
2:  movs    r0, #0
    bx      lr
