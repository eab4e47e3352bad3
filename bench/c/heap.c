/* This file replaces malloc and its family for the whole process, C and Rust alike, and counts the bytes in use by each side.
 *
 * What is counted is what was asked for, without the allocator's own overhead. A block knows its size and side, so that
 * freeing it is counted where allocating it was. While realloc runs, both blocks count: they may exist at once.
 *
 * What must always hold: counting allocates nothing; counts are per thread. */

#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void *__libc_malloc(size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void *__libc_calloc(size_t count, size_t size);
void __libc_free(void *block);

#define SIDES 3
#define PAGE 4096

/* This header lies directly before every block that is handed out. */
struct header {
    size_t size;
    uint32_t before; /* bytes from the start of glibc's block */
    uint32_t side;
};

struct count {
    int64_t in_use;
    int64_t peak;
    int64_t total; /* of all requests; realloc requests what it adds, as memusage of glibc counts */
};

static __thread uint32_t current;
static __thread struct count counts[SIDES];

/* Counts what follows on this thread for `side`. Returns the side that it was counted for before. */
uint32_t terse_bench_heap_side(uint32_t side) {
    uint32_t before = current;
    current = side < SIDES ? side : 0;
    return before;
}

/* Returns the bytes in use by `side`, and counts its peak anew from there. */
int64_t terse_bench_heap_start(uint32_t side) {
    counts[side].peak = counts[side].in_use;
    return counts[side].in_use;
}

int64_t terse_bench_heap_in_use(uint32_t side) {
    return counts[side].in_use;
}

int64_t terse_bench_heap_peak(uint32_t side) {
    return counts[side].peak;
}

int64_t terse_bench_heap_total(uint32_t side) {
    return counts[side].total;
}

static void add(uint32_t side, size_t size) {
    struct count *count = &counts[side];
    count->in_use += (int64_t)size;
    count->total += (int64_t)size;
    if (count->in_use > count->peak) {
        count->peak = count->in_use;
    }
}

static struct header *header_of(void *block) {
    return (struct header *)block - 1;
}

/* A block of ours in one of glibc's. */
static void *wrap(unsigned char *start, size_t before, size_t size) {
    if (start == NULL) {
        return NULL;
    }
    struct header *header = header_of(start + before);
    header->size = size;
    header->before = (uint32_t)before;
    header->side = current;
    add(current, size);
    return start + before;
}

void *malloc(size_t size) {
    if (size > PTRDIFF_MAX - PAGE) {
        errno = ENOMEM;
        return NULL;
    }
    return wrap(__libc_malloc(size + sizeof(struct header)), sizeof(struct header), size);
}

void *calloc(size_t count, size_t each) {
    size_t size;
    if (__builtin_mul_overflow(count, each, &size) || size > PTRDIFF_MAX - PAGE) {
        errno = ENOMEM;
        return NULL;
    }
    return wrap(__libc_calloc(1, size + sizeof(struct header)), sizeof(struct header), size);
}

void free(void *block) {
    if (block != NULL) {
        struct header *header = header_of(block);
        counts[header->side].in_use -= (int64_t)header->size;
        __libc_free((unsigned char *)block - header->before);
    }
}

void *realloc(void *block, size_t size) {
    if (block == NULL) {
        return malloc(size);
    } else if (size == 0) {
        free(block);
        return NULL;
    } else if (size > PTRDIFF_MAX - PAGE) {
        errno = ENOMEM;
        return NULL;
    }
    struct header old = *header_of(block);
    if (old.before != sizeof(struct header)) { /* aligned: glibc could not keep it so */
        void *new = malloc(size);
        if (new != NULL) {
            memcpy(new, block, old.size < size ? old.size : size);
            counts[current].total -= (int64_t)(old.size < size ? old.size : size);
            free(block);
        }
        return new;
    }
    unsigned char *start = __libc_realloc((unsigned char *)block - old.before, size + sizeof(struct header));
    void *new = wrap(start, sizeof(struct header), size);
    if (new != NULL) {
        counts[old.side].in_use -= (int64_t)old.size;
        counts[current].total -= (int64_t)(old.size < size ? old.size : size);
    }
    return new;
}

void *memalign(size_t alignment, size_t size) {
    if (alignment < sizeof(struct header)) {
        alignment = sizeof(struct header);
    }
    if ((alignment & (alignment - 1)) != 0) {
        errno = EINVAL;
        return NULL;
    }
    if (alignment > UINT32_MAX || size > PTRDIFF_MAX - alignment) {
        errno = ENOMEM;
        return NULL;
    }
    return wrap(__libc_memalign(alignment, size + alignment), alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) {
        return EINVAL;
    }
    int before = errno;
    void *new = memalign(alignment, size);
    errno = before;
    if (new == NULL) {
        return ENOMEM;
    }
    *block = new;
    return 0;
}

void *valloc(size_t size) {
    return memalign(PAGE, size);
}

void *pvalloc(size_t size) {
    return memalign(PAGE, (size + PAGE - 1) & ~(size_t)(PAGE - 1));
}

size_t malloc_usable_size(void *block) {
    return block == NULL ? 0 : header_of(block)->size;
}
