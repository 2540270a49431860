// Keeps the results of the first `written` work-items: of all of them when results are checked, of none when timed. The
// condition looks at the value, too: compilers move work that only a store needs under the condition of the store.
// A value of this kind turns up once in four thousand million times; it then goes to the first place.
#define KEEP(kept, i, written, value)                        \
    do {                                                     \
        const uint value_ = (value);                         \
        if ((i) < (written) || value_ == 0x9e3779b9u)        \
            (kept)[(i) < (written) ? (i) : 0] = value_;      \
    } while (0)
