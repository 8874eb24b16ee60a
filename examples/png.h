// Writes a picture as PNG without any library: the pixels go uncompressed into the zlib stream, which
// the format allows ("stored" blocks, RFC 1951 section 3.2.4).
#ifndef EXAMPLES_PNG_H
#define EXAMPLES_PNG_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PNG_BLOCK_MAX 65535

struct png {
    FILE *file;
    uint32_t crc;        // of the current chunk
    uint32_t a, b;       // Adler-32 of the pixels
};

static inline uint32_t png_crc(uint32_t crc, const uint8_t *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return crc;
}

static inline void png_bytes(struct png *p, const void *data, size_t bytes) {
    p->crc = png_crc(p->crc, data, bytes);
    fwrite(data, 1, bytes, p->file);
}

static inline void png_number(struct png *p, uint32_t value) {
    uint8_t bytes[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8), (uint8_t)value};
    png_bytes(p, bytes, 4);
}

static inline void png_begin(struct png *p, const char *type, uint32_t bytes) {
    png_number(p, bytes);
    p->crc = 0xFFFFFFFFu;
    png_bytes(p, type, 4);
}

static inline void png_end(struct png *p) {
    png_number(p, ~p->crc);
}

static inline void png_header(struct png *p, uint32_t width, uint32_t height) {
    static const uint8_t rgb_8_bits[5] = {8, 2, 0, 0, 0};
    fwrite("\x89PNG\r\n\x1a\n", 1, 8, p->file);
    png_begin(p, "IHDR", 13);
    png_number(p, width);
    png_number(p, height);
    png_bytes(p, rgb_8_bits, 5);
    png_end(p);
}

static inline void png_block(struct png *p, const uint8_t *data, size_t bytes, int last) {
    uint8_t head[5] = {(uint8_t)last, (uint8_t)bytes, (uint8_t)(bytes >> 8), (uint8_t)~bytes, (uint8_t)(~bytes >> 8)};
    png_bytes(p, head, 5);
    png_bytes(p, data, bytes);
    for (size_t i = 0; i < bytes; i++) {
        p->a = (p->a + data[i]) % 65521;
        p->b = (p->b + p->a) % 65521;
    }
}

static inline void png_pixels(struct png *p, const uint8_t *rows, size_t bytes) {
    size_t blocks = (bytes + PNG_BLOCK_MAX - 1) / PNG_BLOCK_MAX;
    png_begin(p, "IDAT", (uint32_t)(2 + 5 * blocks + bytes + 4));
    png_bytes(p, "\x78\x01", 2);
    for (size_t at = 0; at < bytes; at += PNG_BLOCK_MAX) {
        size_t left = bytes - at;
        png_block(p, rows + at, left < PNG_BLOCK_MAX ? left : PNG_BLOCK_MAX, left <= PNG_BLOCK_MAX);
    }
    png_number(p, p->b << 16 | p->a);
    png_end(p);
}

// `rows` holds `height` rows; each begins with a zero byte (no filter) before its `width` RGB pixels.
// Returns 0, or -1 when the file cannot be written.
static inline int png_write(const char *path, const uint8_t *rows, uint32_t width, uint32_t height) {
    struct png p = {fopen(path, "wb"), 0, 1, 0};
    if (p.file == NULL)
        return -1;
    png_header(&p, width, height);
    png_pixels(&p, rows, (size_t)height * (1 + 3 * (size_t)width));
    png_begin(&p, "IEND", 0);
    png_end(&p);
    int failed = ferror(p.file);
    return fclose(p.file) != 0 || failed ? -1 : 0;
}

#endif
