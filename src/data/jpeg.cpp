#include "data/jpeg.hpp"

#include <csetjmp>
#include <cstdio>

// jpeglib.h needs the type FILE of stdio.
#include <jpeglib.h>
// jerror.h needs the types of jpeglib.h.
#include <jerror.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "base/error.hpp"

namespace dbench::data {
namespace {

constexpr int64_t kMostPixels = int64_t{1} << 28;
constexpr int64_t kMostJpegSide = 65500;  // JPEG_MAX_DIMENSION of the library.
// Encoders write at most about ten scans. Each scan of a progressive file passes over all pixels,
// so a small file with many scans could keep a processor busy for minutes.
constexpr int64_t kUsualScans = 10, kMostScans = 500, kMostScannedPixels = int64_t{1} << 30;
constexpr int64_t kAround = 2;  // Chroma is interpolated from neighbouring pixels.

struct Failing {
    jpeg_error_mgr manager;  // Must be the first member: the library has a pointer to it.
    std::jmp_buf jump;
    char text[JMSG_LENGTH_MAX];
    const char* remedy = "the file is damaged or truncated; get it again, or remove it";
};

[[noreturn]] void fail_jpeg(j_common_ptr info) {
    auto* failing = reinterpret_cast<Failing*>(info->err);
    info->err->format_message(info, failing->text);
    std::longjmp(failing->jump, 1);
}

// The library fills missing data with grey; treat that as an error. It may repair other faults.
void warned(j_common_ptr info, int level) {
    const int code = info->err->msg_code;
    if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)) fail_jpeg(info);
}

// Ends decoding if the file has too many scans. The library calls it regularly.
void limit_scans(j_common_ptr common) {
    auto* info = reinterpret_cast<j_decompress_ptr>(common);
    const int64_t scans = info->input_scan_number;
    const int64_t pixels = int64_t{info->image_width} * info->image_height;
    if (scans <= kUsualScans || (scans <= kMostScans && scans * pixels <= kMostScannedPixels)) {
        return;
    }
    auto* failing = reinterpret_cast<Failing*>(common->err);
    std::snprintf(failing->text, sizeof failing->text,
                  "it is coded in more than %d scans, which take too long to decode",
                  static_cast<int>(scans - 1));
    failing->remedy = "convert it, for example with ImageMagick: mogrify -interlace none FILE";
    std::longjmp(failing->jump, 1);
}

// Converts inks to light: (1 - ink) (1 - black). Inverted inks are 255 where nothing is printed.
void rgb_of_inks(const uint8_t* cmyk, int64_t width, bool inverted, uint8_t* rgb) {
    for (int64_t x = 0; x < width; ++x) {
        for (int c = 0; c < 3; ++c) {
            const int light = inverted ? cmyk[4 * x + c] : 255 - cmyk[4 * x + c];
            const int white = inverted ? cmyk[4 * x + 3] : 255 - cmyk[4 * x + 3];
            rgb[3 * x + c] = static_cast<uint8_t>((light * white + 127) / 255);
        }
    }
}

bool begins_with(std::span<const uint8_t> bytes, std::initializer_list<uint8_t> start) {
    return bytes.size() >= start.size() && std::equal(start.begin(), start.end(), bytes.begin());
}

}  // namespace

// The library leaves a failing call by longjmp, so no object with a destructor may live in a
// function that calls setjmp.
struct Jpeg::Impl {
    std::span<const uint8_t> bytes;
    std::string path;
    Failing failing{};
    jpeg_decompress_struct info{};
    jpeg_progress_mgr progress{};
    std::vector<uint8_t> inks;

    bool read_header() {
        info.err = jpeg_std_error(&failing.manager);
        failing.manager.error_exit = fail_jpeg;
        failing.manager.emit_message = warned;
        if (setjmp(failing.jump) != 0) return false;
        jpeg_create_decompress(&info);
        progress.progress_monitor = limit_scans;
        info.progress = &progress;
        jpeg_mem_src(&info, bytes.data(), bytes.size());
        jpeg_read_header(&info, TRUE);
        return true;
    }

    bool start(int64_t eighths) {
        if (setjmp(failing.jump) != 0) return false;
        const bool inked = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
        info.out_color_space = inked ? JCS_CMYK : JCS_RGB;
        info.scale_num = static_cast<unsigned>(eighths);
        info.scale_denom = 8;
        jpeg_start_decompress(&info);
        return true;
    }

    bool crop(JDIMENSION* left, JDIMENSION* width) {
        if (setjmp(failing.jump) != 0) return false;
        jpeg_crop_scanline(&info, left, width);
        return true;
    }

    bool read(Pixels& out) {
        if (setjmp(failing.jump) != 0) return false;
        jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(out.top));
        const bool inked = info.out_color_space == JCS_CMYK;
        for (int64_t y = 0; y < out.height; ++y) {
            uint8_t* row = out.rgb.data() + y * out.width * 3;
            JSAMPROW into = inked ? inks.data() : row;
            jpeg_read_scanlines(&info, &into, 1);
            if (inked) rgb_of_inks(into, out.width, info.saw_Adobe_marker != 0, row);
        }
        jpeg_abort_decompress(&info);
        return true;
    }

    [[noreturn]] void refuse() const {
        throw base::UserError(path + ": cannot be decoded (" + failing.text +
                              "): " + failing.remedy);
    }
};

Jpeg::Jpeg(std::span<const uint8_t> bytes, std::string path) : impl_(std::make_unique<Impl>()) {
    impl_->bytes = bytes;
    impl_->path = std::move(path);
    const bool read = impl_->read_header();
    if (read && width() * height() <= kMostPixels) return;
    jpeg_destroy_decompress(&impl_->info);
    if (!read) impl_->refuse();
    throw base::UserError(impl_->path + ": is " + std::to_string(width()) + " by " +
                          std::to_string(height()) +
                          " pixels (at most 2^28 pixels are supported): make it smaller");
}

Jpeg::~Jpeg() { jpeg_destroy_decompress(&impl_->info); }

int64_t Jpeg::width() const { return impl_->info.image_width; }
int64_t Jpeg::height() const { return impl_->info.image_height; }

void Jpeg::decode(const Part& part, int64_t eighths, Pixels& out) {
    DBENCH_EXPECT(eighths >= 1 && eighths <= 8);
    Impl& d = *impl_;
    if (!d.start(eighths)) d.refuse();
    const double scale = static_cast<double>(eighths) / 8;
    const auto first = [&](double from) {
        return std::max<int64_t>(0, static_cast<int64_t>(std::floor(from * scale)) - kAround);
    };
    const auto last = [&](double to, JDIMENSION size) {
        return std::min<int64_t>(size, static_cast<int64_t>(std::ceil(to * scale)) + kAround);
    };
    out.top = first(part.top);
    out.height = last(part.top + part.height, d.info.output_height) - out.top;
    auto left = static_cast<JDIMENSION>(first(part.left));
    auto width = static_cast<JDIMENSION>(last(part.left + part.width, d.info.output_width)) - left;
    DBENCH_EXPECT(out.height > 0 && width > 0);
    if (!d.crop(&left, &width)) d.refuse();  // Rounds to whole blocks.
    out.left = left;
    out.width = width;
    out.rgb.resize(static_cast<size_t>(out.width * out.height * 3));
    d.inks.resize(d.info.out_color_space == JCS_CMYK ? static_cast<size_t>(out.width) * 4 : 0);
    if (!d.read(out)) d.refuse();
}

void check_jpeg_frame(const JpegFrame& frame, const std::string& path) {
    const auto refuse = [&](const std::string& what, const std::string& remedy) {
        throw base::UserError(path + ": " + what + ": " + remedy);
    };
    bool coded = frame.marker >= 0xc0 && frame.marker <= 0xc2;
#ifdef D_ARITH_CODING_SUPPORTED
    coded = coded || frame.marker == 0xc9 || frame.marker == 0xca;
#endif
    const bool coloured = frame.components == 1 || frame.components == 3 || frame.components == 4;
    if (!coded || frame.bits != 8 || !coloured) {
        refuse("is a JPEG of a kind that is not supported (coding " +
                   std::to_string(frame.marker - 0xc0) + ", " + std::to_string(frame.bits) +
                   " bits per sample, " + std::to_string(frame.components) + " colours)",
               "convert it, for example with ImageMagick: mogrify -format jpg FILE");
    }
    const std::string sides =
        "is " + std::to_string(frame.width) + " by " + std::to_string(frame.height) + " pixels";
    if (frame.width < 1 || frame.height < 1) refuse(sides, "get it again, or remove it");
    if (std::max(frame.width, frame.height) > kMostJpegSide ||
        frame.width * frame.height > kMostPixels) {
        refuse(sides + " (at most 65500 per side and 2^28 in all are supported)",
               "make it smaller");
    }
}

bool looks_like_jpeg(std::span<const uint8_t> beginning) {
    return begins_with(beginning, {0xff, 0xd8, 0xff});
}

bool looks_like_png(std::span<const uint8_t> beginning) {
    return begins_with(beginning, {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'});
}

std::string jpeg_version() {
    // LIBJPEG_TURBO_VERSION is unquoted, such as 2.1.5.
#define DBENCH_TEXT_OF(words) #words
#define DBENCH_TEXT(words) DBENCH_TEXT_OF(words)
    return "libjpeg-turbo " DBENCH_TEXT(LIBJPEG_TURBO_VERSION);
#undef DBENCH_TEXT
#undef DBENCH_TEXT_OF
}

}  // namespace dbench::data
