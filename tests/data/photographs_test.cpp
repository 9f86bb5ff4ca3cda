#include <csetjmp>
#include <cstdio>

// jpeglib.h needs the type FILE of stdio.
#include <jpeglib.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>
#include <thread>

#include "catch.hpp"
#include "data/photograph_check.hpp"
#include "data/photographs.hpp"
#include "data/support.hpp"
#include "data/thread_pool.hpp"
#include "data/view.hpp"

using namespace dbench;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Coding {
    J_COLOR_SPACE colours = JCS_RGB;
    int channels = 3;
    int across = 2, down = 2;  // Pixels per chroma sample.
    bool progressive = false;
    int scans = 0;  // Number of scans; 0: as many as usual.
};

/// Returns a JPEG of waves that differ by channel, with edges.
test::Bytes jpeg_of(int width, int height, const Coding& coding) {
    jpeg_compress_struct info{};
    jpeg_error_mgr errors{};
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    unsigned char* memory = nullptr;
    unsigned long size = 0;
    jpeg_mem_dest(&info, &memory, &size);
    info.image_width = static_cast<JDIMENSION>(width);
    info.image_height = static_cast<JDIMENSION>(height);
    info.input_components = coding.channels;
    info.in_color_space = coding.colours;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, 90, TRUE);
    if (coding.channels == 3) {
        info.comp_info[0].h_samp_factor = coding.across;
        info.comp_info[0].v_samp_factor = coding.down;
    }
    if (coding.progressive) jpeg_simple_progression(&info);
    std::vector<jpeg_scan_info> scans;
    if (coding.scans > 0) {  // First the means, then four scans of each other coefficient.
        scans.push_back({3, {0, 1, 2}, 0, 0, 0, 0});
        for (int k = 0; k + 1 < coding.scans; ++k) {
            const int coefficient = 1 + k / 12, below = 3 - k % 4;
            scans.push_back(
                {1, {k / 4 % 3}, coefficient, coefficient, below == 3 ? 0 : below + 1, below});
        }
        info.scan_info = scans.data();
        info.num_scans = coding.scans;
    }
    jpeg_start_compress(&info, TRUE);
    std::vector<uint8_t> row(static_cast<size_t>(width * coding.channels));
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            for (int c = 0; c < coding.channels; ++c) {
                const double wave = std::sin(0.11 * x + 0.07 * y * (c + 1) + c);
                const bool beyond = (x / 13 + y / 17) % 2 == 0;
                row[x * coding.channels + c] =
                    static_cast<uint8_t>(127 + 80 * wave + (beyond ? 40 : 0));
            }
        }
        JSAMPROW rows = row.data();
        jpeg_write_scanlines(&info, &rows, 1);
    }
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    test::Bytes out(memory, memory + size);
    std::free(memory);
    return out;
}

data::Pixels decoded(const test::Bytes& bytes, const data::Part& part, int64_t eighths) {
    data::Pixels out;
    data::Jpeg(bytes, "a.jpg").decode(part, eighths, out);
    return out;
}

const std::vector<std::pair<std::string, Coding>> kCodings = {
    {"4:2:0", {}},
    {"4:2:2", {JCS_RGB, 3, 2, 1}},
    {"4:4:4", {JCS_RGB, 3, 1, 1}},
    {"progressive", {JCS_RGB, 3, 2, 2, true}},
    {"grey", {JCS_GRAYSCALE, 1, 1, 1}},
    {"CMYK", {JCS_CMYK, 4, 1, 1}},
};

}  // namespace

TEST_CASE("a decoded part equals that part of the whole photograph, at every size") {
    for (const auto& [name, coding] : kCodings) {
        const test::Bytes bytes = jpeg_of(150, 101, coding);
        for (int64_t eighths = 1; eighths <= 8; ++eighths) {
            INFO(name << ", " << eighths << "/8");
            const data::Pixels whole = decoded(bytes, {0, 0, 150, 101}, eighths);
            REQUIRE(whole.width == (150 * eighths + 7) / 8);
            REQUIRE(whole.height == (101 * eighths + 7) / 8);
            for (const data::Part& wanted :
                 {data::Part{0, 0, 20, 20}, {37, 41, 50, 13}, {64, 48, 16, 16}, {149, 100, 1, 1}}) {
                const data::Pixels part = decoded(bytes, wanted, eighths);
                const double scale = static_cast<double>(eighths) / 8;
                const auto left = static_cast<int64_t>(wanted.left * scale);
                const auto top = static_cast<int64_t>(wanted.top * scale);
                const auto right =
                    std::min(whole.width,
                             static_cast<int64_t>(std::ceil((wanted.left + wanted.width) * scale)));
                const auto bottom =
                    std::min(whole.height,
                             static_cast<int64_t>(std::ceil((wanted.top + wanted.height) * scale)));
                REQUIRE((part.left <= left && part.top <= top));
                REQUIRE(part.left + part.width >= right);
                REQUIRE(part.top + part.height >= bottom);
                bool same = true;
                for (int64_t y = top; y < bottom; ++y) {
                    const uint8_t* a = &whole.rgb[(y * whole.width + left) * 3];
                    const uint8_t* b =
                        &part.rgb[((y - part.top) * part.width + left - part.left) * 3];
                    same = same && std::memcmp(a, b, static_cast<size_t>(3 * (right - left))) == 0;
                }
                CHECK(same);
            }
        }
    }
}

TEST_CASE("damaged JPEGs are refused by name") {
    const test::Bytes good = jpeg_of(90, 70, {});
    const auto said = [](const test::Bytes& bytes) {
        return test::refusal([&] { decoded(bytes, {0, 0, 90, 70}, 8); });
    };
    CHECK(said(good).empty());
    CHECK_THAT(said({}), ContainsSubstring("a.jpg: cannot be decoded"));
    CHECK_THAT(said({0xff, 0xd8, 0xff}), ContainsSubstring("a.jpg"));
    for (const size_t left : {size_t{10}, good.size() / 4, good.size() / 2, good.size() - 60}) {
        test::Bytes cut(good.begin(), good.begin() + static_cast<long>(left));
        CHECK_THAT(said(cut), ContainsSubstring("a.jpg: cannot be decoded"));
        cut.insert(cut.end(), {0xff, 0xd9});
        CHECK_THAT(said(cut), ContainsSubstring("a.jpg: cannot be decoded"));
    }
    test::Bytes bomb = good;  // The header claims 65500 by 65500 pixels.
    const uint8_t start[] = {0xff, 0xc0};
    const auto frame = std::search(bomb.begin(), bomb.end(), std::begin(start), std::end(start));
    for (int k = 5; k < 9; k += 2) {
        frame[k] = 0xff;
        frame[k + 1] = 0xdc;
    }
    CHECK_THAT(said(bomb), ContainsSubstring("65500 by 65500"));
}

TEST_CASE("a JPEG with unusually many scans is read, and one with hundreds is refused") {
    const auto said = [](int scans) {
        const Coding coding{.progressive = true, .scans = scans};
        return test::refusal([&] { decoded(jpeg_of(90, 70, coding), {0, 0, 90, 70}, 8); });
    };
    CHECK(said(100).empty());
    CHECK(said(500).empty());
    CHECK_THAT(said(501), ContainsSubstring("a.jpg: cannot be decoded (it is coded in more than "
                                            "500 scans") &&
                              ContainsSubstring("mogrify -interlace none"));
}

TEST_CASE("a photograph is checked to its end without decoding it") {
    const test::Folder folder;
    const std::string path = folder / "a.jpg";
    const auto said = [&](const test::Bytes& bytes) {
        test::write_file(path, bytes);
        return test::refusal([&] { data::check_photograph(path); });
    };
    const auto with = [](test::Bytes bytes, size_t more, uint8_t value) {
        bytes.resize(bytes.size() + more, value);
        return bytes;
    };
    for (const auto& [name, coding] : kCodings) {
        INFO(name);
        const test::Bytes good = jpeg_of(90, 70, coding);
        CHECK(said(good).empty());
        CHECK(said(with(good, 5000, 0)).empty());
        CHECK(said(with(good, 200000, 0xff)).empty());
        for (const size_t left : {good.size() - 2, good.size() / 2, size_t{4}}) {
            const test::Bytes cut(good.begin(), good.begin() + static_cast<long>(left));
            CHECK_THAT(said(cut), ContainsSubstring(path + ": ends too early"));
            CHECK_THAT(said(with(cut, 5000, 0)), ContainsSubstring("get it again, or remove it"));
        }
    }
    // A preview before the picture has an end marker of its own.
    test::Bytes preview = jpeg_of(60, 60, {}), whole = jpeg_of(90, 70, {});
    const auto length = static_cast<uint16_t>(preview.size() + 2);
    preview.insert(preview.begin(), {0xff, 0xe1, static_cast<uint8_t>(length >> 8),
                                     static_cast<uint8_t>(length & 255)});
    whole.insert(whole.begin() + 2, preview.begin(), preview.end());
    CHECK(said(whole).empty());
    whole.resize(whole.size() - 20);
    CHECK_THAT(said(whole), ContainsSubstring("ends too early"));
    test::Bytes frame = jpeg_of(90, 70, {});
    const uint8_t start[] = {0xff, 0xc0};
    const auto at = std::search(frame.begin(), frame.end(), std::begin(start), std::end(start));
    at[4] = 12;
    CHECK_THAT(said(frame), ContainsSubstring("not supported (coding 0, 12 bits"));
    at[4] = 8;
    at[1] = 0xc3;
    CHECK_THAT(said(frame), ContainsSubstring("not supported (coding 3, 8 bits"));
    at[1] = 0xc0;
    at[2] = 0;
    at[3] = 7;  // One byte too short for the numbers of a frame.
    CHECK_THAT(said(frame), ContainsSubstring("a damaged JPEG, with a frame of a wrong length"));
    CHECK_THAT(said({0xff, 0xd8, 0xff, 0xd9}), ContainsSubstring("damaged JPEG"));
    CHECK_THAT(said({'G', 'I', 'F'}), ContainsSubstring("is not a JPEG"));
}

TEST_CASE("a pack that is truncated while it is used is an error that names it") {
    const test::Folder folder;
    test::write_file(folder / "in/class/a.jpg", jpeg_of(90, 70, {}));
    test::write_file(folder / "in/class/b.jpg", jpeg_of(90, 70, {}));
    const std::string path = folder / "a.pack";
    const auto photographs = data::photographs_in(folder / "in", data::ClassBy::folder, true);
    data::pack(*photographs, path, [](int64_t, int64_t) {});
    const auto packed = data::packed_photographs(path);
    test::Bytes buffer, same;
    CHECK(std::ranges::equal(packed->bytes(1, buffer), photographs->bytes(1, same)));
    std::filesystem::resize_file(path, 4000);
    CHECK_THAT(test::refusal([&] { static_cast<void>(packed->bytes(1, buffer)); }),
               ContainsSubstring("a.pack: is not a complete pack (it became shorter"));
}

TEST_CASE("resampling is a triangle-weighted mean of the allowed pixels") {
    data::Pixels in{3, 2, 40, 30, std::vector<uint8_t>(40 * 30 * 3)};
    for (size_t k = 0; k < in.rgb.size(); ++k) in.rgb[k] = static_cast<uint8_t>((k * 97) % 251);
    const data::Normalization normalization = {{0.1, 0.2, 0.3}, {0.5, 1, 2}};
    const bool mirrored = GENERATE(false, true);
    const auto order = GENERATE(data::Order::contiguous, data::Order::channels_last);
    for (const auto& [x, y] :
         {std::pair<data::Axis, data::Axis>{{5, 3.1, 9, 5, 33}, {4, 2.5, 8, 3, 27}},
          {{10, 0.4, 20, 10, 18}, {2, 1, 11, 2, 32}}}) {
        std::vector<double> out(static_cast<size_t>(3 * x.count * y.count));
        data::resample(in, x, y, mirrored, normalization, arena::DType::float64, order, out.data());
        const auto weight = [](const data::Axis& axis, int64_t k, int64_t pixel) {
            const double centre = axis.origin + (static_cast<double>(k) + 0.5) * axis.step;
            const double apart = std::abs(static_cast<double>(pixel) + 0.5 - centre);
            return pixel < axis.first || pixel >= axis.last
                       ? 0
                       : std::max(0.0, 1 - apart / std::max(1.0, axis.step));
        };
        double most = 0;
        for (int64_t c = 0; c < 3; ++c) {
            for (int64_t j = 0; j < y.count; ++j) {
                for (int64_t i = 0; i < x.count; ++i) {
                    double sum = 0, weights = 0;
                    for (int64_t v = in.top; v < in.top + in.height; ++v) {
                        for (int64_t u = in.left; u < in.left + in.width; ++u) {
                            const double w = weight(x, i, u) * weight(y, j, v);
                            weights += w;
                            sum += w * in.rgb[((v - in.top) * in.width + u - in.left) * 3 + c];
                        }
                    }
                    const int64_t at = mirrored ? x.count - 1 - i : i;
                    const double found = order == data::Order::channels_last
                                             ? out[(j * x.count + at) * 3 + c]
                                             : out[(c * y.count + j) * x.count + at];
                    const double right =
                        (sum / weights / 255 - normalization.mean[c]) / normalization.deviation[c];
                    most = std::max(most, std::abs(found - right));
                }
            }
        }
        CHECK(most < 1e-5);
    }
}

TEST_CASE("random views have the areas and ratios of the definition") {
    double area = 0, mirrored = 0, log_ratio = 0, left = 0;
    constexpr int kDraws = 4000;
    for (uint64_t key = 1; key <= kDraws; ++key) {
        const data::View view = data::random_view(key, 400, 300, 64);
        const data::View again = data::random_view(key, 400, 300, 64);
        REQUIRE((view.x.origin == again.x.origin && view.mirrored == again.mirrored));
        const double w = view.x.step * 64, h = view.y.step * 64;
        REQUIRE((view.x.first >= 0 && view.x.last <= 400 && view.y.first >= 0));
        REQUIRE((view.y.last <= 300 && view.x.last - view.x.first == std::lround(w)));
        REQUIRE((w * h > 0.078 * 120000 && w * h < 1.002 * 120000));
        REQUIRE((w / h > 0.74 && w / h < 1.35));
        area += w * h / 120000;
        log_ratio += std::log(w / h);
        left += view.x.origin / std::max(1.0, 400 - w);
        mirrored += view.mirrored;
    }
    // Means over all areas and ratios that fit, which are equally likely. Positions are uniform.
    double fit = 0, of_area = 0, of_log = 0;
    constexpr int kGrid = 400;
    for (int i = 0; i < kGrid * kGrid; ++i) {
        const double a = 0.08 + 0.92 * (i % kGrid + 0.5) / kGrid;
        const double log = std::log(4.0 / 3) * (2 * (i / kGrid + 0.5) / kGrid - 1);
        const double w = std::sqrt(a * 120000 * std::exp(log)), h = a * 120000 / w;
        if (w > 400.5 || h > 300.5) continue;
        fit += 1;
        of_area += a;
        of_log += log;
    }
    CHECK(area / kDraws == Approx(of_area / fit).margin(0.015));
    CHECK(log_ratio / kDraws == Approx(of_log / fit).margin(0.015));
    CHECK(left / kDraws == Approx(0.5).margin(0.03));
    CHECK(mirrored / kDraws == Approx(0.5).margin(0.03));
    // If no rectangle fits, the view is in the middle.
    const data::View narrow = data::random_view(1, 1000, 10, 64);
    CHECK((narrow.y.first == 0 && narrow.y.last == 10));
    CHECK((narrow.x.first == 493 && narrow.x.last == 506));
}

TEST_CASE("a view is decoded at the smallest sufficient size") {
    for (const int64_t side : {10, 64, 65, 100, 128, 129, 300, 511, 512, 513, 5000}) {
        const data::View view = data::central_view(side, side + 7, 56);
        const int64_t eighths = data::eighths_for(view);
        const double finest = std::min(view.x.step, view.y.step);
        INFO(side << ": " << eighths << "/8");
        if (finest >= 1) CHECK(finest * static_cast<double>(eighths) / 8 >= 1);
        if (eighths > 1) CHECK(finest * static_cast<double>(eighths - 1) / 8 < 1);
        const data::View small = data::scaled(view, eighths);
        CHECK(small.x.step == Approx(view.x.step * static_cast<double>(eighths) / 8));
        CHECK(small.x.last == (side * eighths + 7) / 8);
    }
}

TEST_CASE("a pack returns every photograph, and a changed byte of its index is detected") {
    const test::Folder folder;
    const std::string root = folder.path() + "/photos", file = folder.path() + "/a.pack";
    for (const char* name : {"b/2.jpg", "a/10.jpg", "a/9.jpg", "c/x.jpg"}) {
        test::write_file(root + "/" + name, jpeg_of(20 + static_cast<int>(name[2]), 30, {}));
    }
    test::write_file(root + "/a/.hidden", {1});
    const auto all = data::photographs_in(root, data::ClassBy::folder, true);
    REQUIRE(all->names == std::vector<std::string>{"a/10.jpg", "a/9.jpg", "b/2.jpg", "c/x.jpg"});
    REQUIRE(all->labels == std::vector<int32_t>{0, 0, 1, 2});
    int64_t told = 0;
    data::pack(*all, file, [&](int64_t done, int64_t) { CHECK(done == ++told); });
    CHECK(told == 4);
    const auto packed = data::packed_photographs(file);
    CHECK((packed->names == all->names && packed->labels == all->labels));
    CHECK(packed->classes == std::vector<std::string>{"a", "b", "c"});
    std::vector<uint8_t> one, other;
    for (int64_t k = 0; k < all->size(); ++k) {
        const auto a = all->bytes(k, one), b = packed->bytes(k, other);
        CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
    }
    std::ifstream stream(file, std::ios::binary);
    const test::Bytes good(std::istreambuf_iterator<char>(stream), {});
    uint64_t index = 0;
    std::memcpy(&index, good.data() + good.size() - 32, sizeof index);
    for (size_t at = index; at < good.size(); at += 7) {
        test::Bytes bad = good;
        bad[at] ^= 0x10;
        test::write_file(file, bad);
        CHECK_THAT(test::refusal([&] { data::packed_photographs(file); }),
                   ContainsSubstring("a.pack"));
    }
}

TEST_CASE("classes from file names are sorted as classes") {
    const test::Folder folder;
    const std::string root = folder.path() + "/photos";
    for (const char* name : {"a-b_1.jpg", "a.jpg", "a_2.jpg"}) {
        test::write_file(root + "/" + name, jpeg_of(20, 30, {}));
    }
    const auto all = data::photographs_in(root, data::ClassBy::name, true);
    CHECK(all->classes == std::vector<std::string>{"a", "a-b"});
    CHECK(all->names == std::vector<std::string>{"a.jpg", "a_2.jpg", "a-b_1.jpg"});
    CHECK(all->labels == std::vector<int32_t>{0, 0, 1});
}

TEST_CASE("a ThreadPool runs every part once and rethrows the exception of the smallest number") {
    for (const int64_t threads : {1, 2, 5}) {
        data::ThreadPool pool(threads);
        for (int64_t count = 0; count < 40; ++count) {
            std::vector<std::atomic<int>> times(static_cast<size_t>(count));
            pool.parallel_for(count, [&](int64_t k) { ++times[k]; });
            CHECK(std::all_of(times.begin(), times.end(), [](const auto& n) { return n == 1; }));
            const auto failing = [&](int64_t k) {
                if (k % 7 == 3) throw base::UserError(std::to_string(k));
            };
            CHECK(test::refusal([&] { pool.parallel_for(count, failing); }) ==
                  (count > 3 ? "3" : ""));
        }
    }
}
