/* libpulse's own codec, measured by codec.ts: it reads lists of sink inputs as libpulse's introspect.c does, and writes the commands
 * that codec.ts writes. The functions are those of libpulsecommon, which pactl is linked to and whose headers are not installed: the
 * declarations are those of PulseAudio 16 and 17 (pulsecore/tagstruct.h). It changes nothing and connects to nothing.
 *
 *   libpulse-codec FRAME...      the files hold one frame each
 *
 * Each line of the input is an order, answered with one line: `decode FILE TIMES` and `volume 0 TIMES`, `name 0 TIMES` with
 * nanoseconds of CPU for each time, `heap FILE 0` with the bytes of one decoded list, `bytes volume 0` and `bytes name 0` with what is written. */

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHANNELS_MAX = 32, FRAMES_MAX = 16, HEADER = 20, RECORDS_MAX = 1000 };
enum { SET_CLIENT_NAME = 9, SET_SINK_INPUT_VOLUME = 37 };

typedef struct tagstruct tagstruct;
typedef struct proplist proplist;
typedef struct { int format; uint32_t rate; uint8_t channels; } sample_spec;
typedef struct { uint8_t channels; int map[CHANNELS_MAX]; } channel_map;
typedef struct { uint8_t channels; uint32_t values[CHANNELS_MAX]; } cvolume;
typedef struct { int encoding; proplist *plist; } format_info;

tagstruct *pa_tagstruct_new(void);
tagstruct *pa_tagstruct_new_fixed(const uint8_t *data, size_t length);
void pa_tagstruct_free(tagstruct *);
int pa_tagstruct_eof(tagstruct *);
const uint8_t *pa_tagstruct_data(tagstruct *, size_t *length);
int pa_tagstruct_getu32(tagstruct *, uint32_t *);
int pa_tagstruct_gets(tagstruct *, const char **);
int pa_tagstruct_get_sample_spec(tagstruct *, sample_spec *);
int pa_tagstruct_get_channel_map(tagstruct *, channel_map *);
int pa_tagstruct_get_cvolume(tagstruct *, cvolume *);
int pa_tagstruct_get_usec(tagstruct *, uint64_t *);
int pa_tagstruct_get_boolean(tagstruct *, bool *);
int pa_tagstruct_get_proplist(tagstruct *, proplist *);
int pa_tagstruct_get_format_info(tagstruct *, format_info *);
void pa_tagstruct_putu32(tagstruct *, uint32_t);
void pa_tagstruct_put_cvolume(tagstruct *, const cvolume *);
void pa_tagstruct_put_proplist(tagstruct *, const proplist *);
proplist *pa_proplist_new(void);
void pa_proplist_free(proplist *);
int pa_proplist_sets(proplist *, const char *key, const char *value);
format_info *pa_format_info_new(void);
void pa_format_info_free(format_info *);

/* pa_sink_input_info of introspect.h. */
typedef struct {
    uint32_t index, owner_module, client, sink;
    const char *name, *resample_method, *driver;
    sample_spec spec;
    channel_map map;
    cvolume volume;
    uint64_t buffer_usec, sink_usec;
    bool mute, corked, has_volume, volume_writable;
    proplist *props;
    format_info *format;
} sink_input;

typedef struct { uint8_t *bytes; size_t length; } frame;

static frame frames[FRAMES_MAX];
static sink_input held[RECORDS_MAX];

static void fail(const char *what) {
    fprintf(stderr, "libpulse-codec: %s\n", what);
    exit(1);
}

static bool read_record(tagstruct *t, sink_input *i) {
    i->props = pa_proplist_new();
    i->format = pa_format_info_new();
    return pa_tagstruct_getu32(t, &i->index) >= 0 && pa_tagstruct_gets(t, &i->name) >= 0 &&
        pa_tagstruct_getu32(t, &i->owner_module) >= 0 && pa_tagstruct_getu32(t, &i->client) >= 0 &&
        pa_tagstruct_getu32(t, &i->sink) >= 0 && pa_tagstruct_get_sample_spec(t, &i->spec) >= 0 &&
        pa_tagstruct_get_channel_map(t, &i->map) >= 0 && pa_tagstruct_get_cvolume(t, &i->volume) >= 0 &&
        pa_tagstruct_get_usec(t, &i->buffer_usec) >= 0 && pa_tagstruct_get_usec(t, &i->sink_usec) >= 0 &&
        pa_tagstruct_gets(t, &i->resample_method) >= 0 && pa_tagstruct_gets(t, &i->driver) >= 0 &&
        pa_tagstruct_get_boolean(t, &i->mute) >= 0 && pa_tagstruct_get_proplist(t, i->props) >= 0 &&
        pa_tagstruct_get_boolean(t, &i->corked) >= 0 && pa_tagstruct_get_boolean(t, &i->has_volume) >= 0 &&
        pa_tagstruct_get_boolean(t, &i->volume_writable) >= 0 &&
        pa_tagstruct_get_format_info(t, i->format) >= 0;
}

static void forget(sink_input *i) {
    pa_proplist_free(i->props);
    pa_format_info_free(i->format);
}

/* As libpulse does: each record is gone when its callback returns. `keep`: none is. The number of records. */
static int decode(size_t file, bool keep) {
    tagstruct *t = pa_tagstruct_new_fixed(frames[file].bytes + HEADER, frames[file].length - HEADER);
    uint32_t command, tag;
    int count = 0;
    if (pa_tagstruct_getu32(t, &command) < 0 || pa_tagstruct_getu32(t, &tag) < 0) fail("no reply");
    for (; !pa_tagstruct_eof(t); count++) {
        if (count == RECORDS_MAX) fail("too many records");
        if (!read_record(t, &held[count])) fail("not a list of sink inputs");
        if (!keep) forget(&held[count]);
    }
    pa_tagstruct_free(t);
    return count;
}

static tagstruct *volume(void) {
    tagstruct *t = pa_tagstruct_new();
    cvolume v = { .channels = 2, .values = { 32768, 32768 } };
    pa_tagstruct_putu32(t, SET_SINK_INPUT_VOLUME);
    pa_tagstruct_putu32(t, 7);
    pa_tagstruct_putu32(t, 5);
    pa_tagstruct_put_cvolume(t, &v);
    return t;
}

/* The list is made each time, as the two that it is compared with get theirs as an object of their language. */
static tagstruct *name(void) {
    static const char *const PROPS[][2] = {
        { "application.name", "Music Player Daemon" }, { "application.version", "1.2.3" },
        { "application.language", "C.UTF-8" }, { "application.process.id", "1234" },
        { "application.process.user", "somebody" }, { "application.process.host", "node" },
    };
    tagstruct *t = pa_tagstruct_new();
    proplist *p = pa_proplist_new();
    for (size_t at = 0; at < sizeof PROPS / sizeof *PROPS; at++) pa_proplist_sets(p, PROPS[at][0], PROPS[at][1]);
    pa_tagstruct_putu32(t, SET_CLIENT_NAME);
    pa_tagstruct_putu32(t, 7);
    pa_tagstruct_put_proplist(t, p);
    pa_proplist_free(p);
    return t;
}

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static void print_bytes(tagstruct *t) {
    size_t length;
    const uint8_t *bytes = pa_tagstruct_data(t, &length);
    for (size_t at = 0; at < length; at++) printf("%02x", bytes[at]);
    printf("\n");
    pa_tagstruct_free(t);
}

static frame load(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) fail(path);
    fseek(file, 0, SEEK_END);
    frame loaded = { .length = (size_t)ftell(file) };
    loaded.bytes = malloc(loaded.length);
    rewind(file);
    if (loaded.length <= HEADER || loaded.bytes == NULL) fail(path);
    if (fread(loaded.bytes, 1, loaded.length, file) != loaded.length) fail(path);
    fclose(file);
    return loaded;
}

int main(int argc, char **argv) {
    char order[16], what[16];
    unsigned long times;
    if (argc - 1 > FRAMES_MAX) fail("too many files");
    for (int at = 1; at < argc; at++) frames[at - 1] = load(argv[at]);
    while (scanf("%15s %15s %lu", order, what, &times) == 3) {
        size_t file = strtoul(what, NULL, 10);
        if (strcmp(order, "bytes") == 0) {
            print_bytes(strcmp(what, "volume") == 0 ? volume() : name());
        } else if (strcmp(order, "heap") == 0) {
            size_t before = mallinfo2().uordblks;
            int records = decode(file, true);
            printf("%zu\n", mallinfo2().uordblks - before);
            while (records > 0) forget(&held[--records]);
        } else {
            bool decodes = strcmp(order, "decode") == 0, sets = strcmp(order, "volume") == 0;
            double begun = cpu();
            for (unsigned long left = times; left > 0; left--) {
                if (decodes) decode(file, false);
                else pa_tagstruct_free(sets ? volume() : name());
            }
            printf("%.0f\n", (cpu() - begun) / times);
        }
        fflush(stdout);
    }
    return 0;
}
