/* The smallest program that signs a voucher request: reads a key, certificates and content, and writes the ContentInfo. It is linked
 * statically with one signer. Without arguments it does nothing, which shows what starting a process takes. */

#include <fcntl.h>
#include <unistd.h>

#include "signer.h"

#define MAX_FILE 16384

static unsigned char files[2 + MAX_CERTIFICATES][MAX_FILE];

static int read_file(const char *name, unsigned char *into, struct bytes *bytes) {
    int file = open(name, O_RDONLY);
    ssize_t len = file < 0 ? -1 : read(file, into, MAX_FILE);
    if (len < 0 || len == MAX_FILE) {
        return 0;
    }
    close(file);
    *bytes = (struct bytes){into, (size_t)len};
    return 1;
}

static int write_all(const unsigned char *bytes, size_t len) {
    while (len > 0) {
        ssize_t written = write(STDOUT_FILENO, bytes, len);
        if (written <= 0) {
            return 0;
        }
        bytes += written;
        len -= (size_t)written;
    }
    return 1;
}

/* Its arguments are: content key certificate [certificate] */
int main(int count, char **arguments) {
    if (count == 1) {
        return 0;
    }
    struct credential credential = {.count = (size_t)(count - 3)};
    struct bytes content;
    if (count < 4 || credential.count > MAX_CERTIFICATES || !read_file(arguments[1], files[0], &content) ||
        !read_file(arguments[2], files[1], &credential.key)) {
        return 2;
    }
    for (size_t i = 0; i < credential.count; i++) {
        if (!read_file(arguments[3 + i], files[2 + i], &credential.certificates[i])) {
            return 2;
        }
    }
    size_t len = 0;
    void *loaded = signer.load(&credential);
    unsigned char *signed_data = loaded == NULL ? NULL : signer.sign(loaded, content, &len);
    if (signed_data == NULL || !write_all(signed_data, len)) {
        return 1;
    }
    signer.release(signed_data, len);
    signer.unload(loaded);
    return 0;
}
