// Stores the results of the first `written` work-items: all of them when results are checked, none when timed.
// The condition also depends on the value. Otherwise compilers would move the computation of the value into the branch.
// One value in 2^32 satisfies the second condition; it is stored at index 0.
#define KEEP(kept, i, written, value)                        \
    do {                                                     \
        const uint value_ = (value);                         \
        if ((i) < (written) || value_ == 0x9e3779b9u)        \
            (kept)[(i) < (written) ? (i) : 0] = value_;      \
    } while (0)
