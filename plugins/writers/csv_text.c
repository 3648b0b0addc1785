/* Rows of numbers as text, each number as printf("%.17g") has it, which is exact; and back.

   A number is m 2^e. With a table of powers of ten to 128 bits, m 2^e 10^k has 17 digits before its point and some 70 bits
   behind it, which tell how the last digit is rounded. Where they do not, being too close to one half, printf is asked.
   The way back is the same: the digits w times 10^q to 128 bits, of which 53 are kept (Lemire, "Number parsing at a gigabyte
   per second", 2021); where the others do not tell how to round, strtod is asked. */

#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 u128;
/* 10^k = (high 2^64 + low) 2^shift, rounded down: KP_FIRST <= k <= KP_LAST; put here by the module that compiles this. */
typedef struct { uint64_t high, low; int shift; } kp_power;
KP_POWERS

static const uint64_t KP_1E16 = 10000000000000000ULL, KP_1E17 = 100000000000000000ULL;

/* Return 17 digits of m 2^e, whose highest bit is set in m, and the decimal place E of the first; 0 if they are not certain. */
static uint64_t kp_digits(uint64_t m, int e, int *E) {
  /* 1233 / 4096 is log10(2) to 2e-5, and m 2^e lies between 2^(e + 63) and twice that: E is right or one too small. */
  int place = ((e + 63) * 1233) >> 12;
  for (int again = 0; again < 3; ++again) {
    int k = 16 - place;
    if (k < KP_FIRST || k > KP_LAST) return 0;
    const kp_power *power = &kp_powers[k - KP_FIRST];
    u128 product = (u128)m * power->high + (uint64_t)(((u128)m * power->low) >> 64);
    int shift = -(e + power->shift + 64);
    if (shift < 8 || shift > 127) return 0;
    uint64_t digits = (uint64_t)(product >> shift);
    if (digits >= KP_1E17) { ++place; continue; }
    if (digits < KP_1E16) { --place; continue; }
    u128 rest = product & (((u128)1 << shift) - 1), half = (u128)1 << (shift - 1);
    /* What the product lacks is below 2 of its last places. */
    if (rest + 4 > half && rest < half + 4) return 0;
    if (rest > half) ++digits;
    if (digits == KP_1E17) { digits = KP_1E16; ++place; }
    *E = place;
    return digits;
  }
  return 0;
}

static char *kp_number(double x, char *out) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  uint64_t m = bits & 0xFFFFFFFFFFFFFULL;
  int exponent = (int)(bits >> 52) & 0x7FF, E = 0;
  if (exponent == 0x7FF && m) { memcpy(out, "nan", 3); return out + 3; }
  if (bits >> 63) *out++ = '-';
  if (exponent == 0x7FF) { memcpy(out, "inf", 3); return out + 3; }
  if (exponent == 0 && m == 0) { *out++ = '0'; return out; }
  if (exponent) m |= 1ULL << 52; else exponent = 1;
  int zeros = __builtin_clzll(m);
  uint64_t digits = kp_digits(m << zeros, exponent - 1075 - zeros, &E);
  if (!digits) {
    int length = sprintf(out, "%.17g", x < 0 ? -x : x);
    char *point = memchr(out, *localeconv()->decimal_point, length);
    if (point) *point = '.';
    return out + length;
  }
  char text[17];
  /* Halves, because division of short numbers is faster. */
  uint32_t last = (uint32_t)(digits % 100000000ULL), first = (uint32_t)(digits / 100000000ULL);
  for (int i = 16; i > 8; --i) { text[i] = (char)('0' + last % 10); last /= 10; }
  for (int i = 8; i >= 0; --i) { text[i] = (char)('0' + first % 10); first /= 10; }
  int count = 17;
  while (count > 1 && text[count - 1] == '0') --count;
  if (E < -4 || E >= 17) {
    *out++ = text[0];
    if (count > 1) { *out++ = '.'; memcpy(out, text + 1, count - 1); out += count - 1; }
    *out++ = 'e';
    *out++ = E < 0 ? '-' : '+';
    if (E < 0) E = -E;
    if (E >= 100) { *out++ = (char)('0' + E / 100); E %= 100; }
    *out++ = (char)('0' + E / 10);
    *out++ = (char)('0' + E % 10);
    return out;
  }
  if (E < 0) {
    memcpy(out, "0.0000", 6);
    out += 1 - E;
    memcpy(out, text, count);
    return out + count;
  }
  int whole = E + 1;
  memcpy(out, text, whole < count ? whole : count);
  for (int i = count; i < whole; ++i) out[i] = '0';
  out += whole;
  if (count > whole) { *out++ = '.'; memcpy(out, text + whole, count - whole); out += count - whole; }
  return out;
}

/* Write n rows of m numbers, each behind a line of `begins`, and return how many characters that are. */
long long kp_csv_rows(const char *begins, const double *values, long long n, long long m, char *out) {
  char *at = out;
  for (long long i = 0; i < n; ++i) {
    while (*begins != '\n') *at++ = *begins++;
    ++begins;
    for (long long j = 0; j < m; ++j) { *at++ = ','; at = kp_number(values[i * m + j], at); }
    *at++ = '\n';
  }
  return at - out;
}

/* Return what strtod says of the text up to `end`, whatever the language of the process. */
static double kp_asked(const char *at, const char *end) {
  char copy[512];
  size_t length = end - at < 511 ? (size_t)(end - at) : 511;
  memcpy(copy, at, length);
  copy[length] = 0;
  char *point = strchr(copy, '.');
  if (point) *point = *localeconv()->decimal_point;
  return strtod(copy, NULL);
}

/* Return 10^q w, or -1 if it is not certain. */
static double kp_nearest(uint64_t w, int q) {
  if (w == 0) return 0.0;
  if (q < KP_FIRST || q > KP_LAST) return -1.0;
  const kp_power *power = &kp_powers[q - KP_FIRST];
  int zeros = __builtin_clzll(w);
  w <<= zeros;
  u128 product = (u128)w * power->high + (uint64_t)(((u128)w * power->low) >> 64);
  int exponent = power->shift + 64 - zeros, top = product >> 127 ? 127 : 126;
  int shift = top - 52;
  uint64_t m = (uint64_t)(product >> shift);
  u128 rest = product & (((u128)1 << shift) - 1), half = (u128)1 << (shift - 1);
  if (rest + 4 > half && rest < half + 4) return -1.0;
  if (rest > half && ++m == 1ULL << 53) { m >>= 1; ++shift; }
  exponent += shift + 1075;
  if (exponent < 1 || exponent > 2046) return -1.0;
  uint64_t bits = (m & 0xFFFFFFFFFFFFFULL) | (uint64_t)exponent << 52;
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Read a number that ends with a comma or a line; return where it ends, NULL if it is none. */
static const char *kp_read(const char *at, const char *end, double *x) {
  int negative = at < end && *at == '-';
  at += negative;
  const char *unsigned_first = at;
  uint64_t w = 0;
  int digits = 0, point = 0, behind = 0, q = 0, any = 0;
  for (; at < end; ++at) {
    unsigned digit = (unsigned)(*at - '0');
    if (digit < 10) {
      any = 1;
      if (digits < 19) { w = 10 * w + digit; digits += w != 0; } else digits = 100;
      behind += point;
    } else if (*at == '.' && !point) point = 1;
    else break;
  }
  if (!any) {
    if (end - at < 4) return NULL;
    uint64_t bits = memcmp(at, "inf", 3) == 0 ? 0x7FF0000000000000ULL : memcmp(at, "nan", 3) == 0 ? 0x7FF8000000000000ULL : 0;
    if (!bits || (at > unsigned_first)) return NULL;
    memcpy(x, &bits, sizeof *x);
    at += 3;
  } else {
    if (at < end && *at == 'e') {
      ++at;
      int minus = at < end && *at == '-', some = 0;
      if (at < end && (*at == '-' || *at == '+')) ++at;
      for (; at < end && (unsigned)(*at - '0') < 10; ++at, some = 1) q = q < 10000 ? 10 * q + (*at - '0') : q;
      if (!some) return NULL;
      if (minus) q = -q;
    }
    *x = digits > 19 ? -1.0 : kp_nearest(w, q - behind);
    if (*x < 0) *x = kp_asked(unsigned_first, at);
  }
  if (negative) *x = -*x;
  return at < end && (*at == ',' || *at == '\n' || *at == '\r') ? at : NULL;
}

/* Read whole rows of m columns, of which those that are wanted are kept; return how many, or -1 if there is anything else. */
long long kp_csv_read(const char *text, long long size, long long m, const char *wanted, double *out) {
  const char *at = text, *end = text + size;
  long long rows = 0;
  while (at < end) {
    for (long long j = 0; j < m; ++j) {
      if (wanted[j]) at = kp_read(at, end, out++);
      else while (at < end && *at != ',' && *at != '\n' && *at != '\r') ++at;
      if (!at || at >= end || (*at == ',') != (j < m - 1)) return -1;
      if (*at == ',') ++at;
    }
    at += *at == '\r';
    if (at >= end || *at++ != '\n') return -1;
    ++rows;
  }
  return rows;
}
