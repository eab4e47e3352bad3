#include <stddef.h>
#include <sys/types.h>

typedef ssize_t (*settings_read_cb)(void *context, void *data, size_t len);
typedef int (*settings_load_direct_cb)(const char *key, size_t len, settings_read_cb read, void *read_context, void *param);

int settings_subsys_init(void);
int settings_load_subtree_direct(const char *subtree, settings_load_direct_cb take, void *param);
int settings_save_one(const char *name, const void *value, size_t len);
int settings_delete(const char *name);
