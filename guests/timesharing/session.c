#include "session.h"

#include "../common/bytes.h"
#include "../common/number.h"

void session_read(struct session *session, const char *name, int count, char **words)
{
    const uint64_t most_microseconds = 1 << 30;
    const struct {
        const char *prefix;
        uint64_t *value;
        /* Nanoseconds of a microsecond, where it is a time. */
        uint64_t unit;
        uint64_t least;
        uint64_t most;
    } keys[] = {
        {"size=", &session->size, 1, 4096, 1 << 20},
        {"updates=", &session->updates, 1, 1, 1 << 20},
        {"iterations=", &session->iterations, 1, 1, 1 << 20},
        {"think=", &session->think_nanoseconds, 1000, 0, most_microseconds},
        {"duration=", &session->duration_nanoseconds, 1000, 1, most_microseconds},
        {"seed=", &session->seed, 1, 0, UINT64_MAX},
    };

    for (int i = 0; i < count; i++) {
        bool found = false;

        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
            const char *text = string_after_prefix(words[i], keys[k].prefix);
            uint64_t value;

            if (text == NULL)
                continue;
            if (!number_parse(text, &value) || value < keys[k].least || value > keys[k].most)
                fail(OUTCOME_USAGE, "%s: %s: must be in %lu to %lu", name, words[i], keys[k].least, keys[k].most);
            *keys[k].value = value * keys[k].unit;
            found = true;
        }
        if (!found)
            fail(OUTCOME_USAGE, "%s: %s: not an option of this workload", name, words[i]);
    }
}

bool session_goes_on(const struct session *session)
{
    return linux_nanoseconds() < session->duration_nanoseconds;
}

uint64_t session_after(const struct session *session, uint64_t nanoseconds)
{
    uint64_t time = linux_nanoseconds() + nanoseconds;

    return time < session->duration_nanoseconds ? time : session->duration_nanoseconds;
}

/* By comparisons alone (von Neumann, Various Techniques Used in Connection with Random Digits, 1951): in a row of random numbers that fall, of
 * which the first is x, the number of those before the first rise is odd with the probability e^-x. */
uint64_t session_draw(struct random *random, uint64_t mean_nanoseconds)
{
    for (double whole = 0;; whole++) {
        double first = random_unit(random);
        double last = first;
        bool odd = true;

        for (;;) {
            double next = random_unit(random);

            if (next >= last)
                break;
            last = next;
            odd = !odd;
        }
        if (odd)
            return (uint64_t)((whole + first) * (double)mean_nanoseconds);
    }
}
