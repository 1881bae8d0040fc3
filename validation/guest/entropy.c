/* Preloaded into the User-Mode Linux process, which takes all its randomness from the host's getrandom: this one is a stream
   that depends on MEASURE_SEED only (SplitMix64), so that a run can be repeated. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

ssize_t getrandom(void *out, size_t length, unsigned flags) {
    static uint64_t state;
    static int seeded;
    (void)flags;
    if (!seeded) {
        const char *seed = getenv("MEASURE_SEED");
        state = seed ? strtoull(seed, NULL, 10) : 0;
        seeded = 1;
    }
    for (size_t done = 0; done < length;) {
        state += 0x9e3779b97f4a7c15u;
        uint64_t z = state;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        size_t part = length - done < sizeof z ? length - done : sizeof z;
        memcpy((char *)out + done, &z, part);
        done += part;
    }
    return (ssize_t)length;
}
