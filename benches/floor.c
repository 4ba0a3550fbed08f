/* The floor under any scan: read a file once and look at every byte, counting lines and code points.
 *
 * usage: floor FILE THREADS
 *
 * Each thread reads its own part of the file by pread, a mebibyte at a time, into one buffer.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 1 << 20, LANES = 64, MOST_THREADS = 64 };

struct part {
    int file;
    off_t start, end;
    uint64_t lines, code_points;
};

/* Sums stay in bytes, one a lane, for the 255 rounds that a byte can hold. */
static void count(const uint8_t *bytes, size_t length, struct part *sums) {
    size_t at = 0;
    while (length - at >= LANES) {
        size_t rounds = (length - at) / LANES;
        if (rounds > 255)
            rounds = 255;
        uint8_t feeds[LANES] = {0}, firsts[LANES] = {0};
        for (size_t round = 0; round < rounds; round++, at += LANES)
            for (int lane = 0; lane < LANES; lane++) {
                feeds[lane] += bytes[at + lane] == '\n';
                firsts[lane] += (int8_t)bytes[at + lane] > -65;
            }
        for (int lane = 0; lane < LANES; lane++) {
            sums->lines += feeds[lane];
            sums->code_points += firsts[lane];
        }
    }
    for (; at < length; at++) {
        sums->lines += bytes[at] == '\n';
        sums->code_points += (int8_t)bytes[at] > -65;
    }
}

static void *read_part(void *argument) {
    struct part *part = argument;
    uint8_t *buffer = aligned_alloc(4096, BUFFER);
    off_t at = part->start;
    while (at < part->end) {
        size_t wanted = part->end - at < BUFFER ? (size_t)(part->end - at) : BUFFER;
        ssize_t got = pread(part->file, buffer, wanted, at);
        if (got <= 0) {
            perror("floor: pread");
            exit(2);
        }
        count(buffer, (size_t)got, part);
        at += got;
    }
    free(buffer);
    return NULL;
}

int main(int count_of_arguments, char **arguments) {
    int threads = count_of_arguments == 3 ? atoi(arguments[2]) : 0;
    if (threads < 1 || threads > MOST_THREADS) {
        fprintf(stderr, "usage: floor FILE THREADS (1 to %d)\n", MOST_THREADS);
        return 2;
    }
    struct stat state;
    int file = open(arguments[1], O_RDONLY);
    if (file < 0 || fstat(file, &state) != 0) {
        perror(arguments[1]);
        return 2;
    }
    struct part parts[MOST_THREADS];
    pthread_t running[MOST_THREADS];
    for (int thread = 0; thread < threads; thread++) {
        off_t start = state.st_size / threads * thread;
        off_t end = thread + 1 == threads ? state.st_size : state.st_size / threads * (thread + 1);
        parts[thread] = (struct part){file, start, end, 0, 0};
        pthread_create(&running[thread], NULL, read_part, &parts[thread]);
    }
    uint64_t lines = 0, code_points = 0;
    for (int thread = 0; thread < threads; thread++) {
        pthread_join(running[thread], NULL);
        lines += parts[thread].lines;
        code_points += parts[thread].code_points;
    }
    printf("{\"lines\": %llu, \"code_points\": %llu}\n", (unsigned long long)lines, (unsigned long long)code_points);
    return 0;
}
