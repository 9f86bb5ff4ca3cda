// dbench data: packs photographs, compresses files, learns byte pairs, and verifies packs and byte
// pairs.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "data/compressed_copy.hpp"
#include "data/files.hpp"
#include "data/photographs.hpp"
#include "data/piece_file.hpp"
#include "data/sets/pairs.hpp"
#include "program/commands.hpp"
#include "program/progress.hpp"

namespace dbench::program {
namespace {

namespace fs = std::filesystem;
using base::UserError;

// Prints progress: a line that is updated in place on a terminal, or one line about every ten
// seconds in a log.
class PackProgress {
public:
    explicit PackProgress(int64_t all) : all_(all), terminal_(isatty(STDERR_FILENO) == 1) {}

    void show(int64_t done, int64_t bytes) {
        constexpr double kTerminal = 0.1, kLog = 10;  // seconds between two lines
        const double spent = clock_.seconds();
        if (spent < next_ && done < all_) return;
        next_ = spent + (terminal_ ? kTerminal : kLog);
        const double left = spent * static_cast<double>(all_ - done) / static_cast<double>(done);
        const std::string time =
            done < all_ ? "ETA " + duration_text(left) : "took " + duration_text(spent);
        std::fprintf(stderr, "%s%3lld %% (%lld of %lld)  %s  %s%s",
                     terminal_ ? "\r" : "dbench: ", static_cast<long long>(100 * done / all_),
                     static_cast<long long>(done), static_cast<long long>(all_),
                     base::bytes_text(static_cast<double>(bytes)).c_str(), time.c_str(),
                     terminal_ ? "\033[K" : "\n");
        if (terminal_ && done == all_) std::fputc('\n', stderr);
    }

private:
    int64_t all_;
    bool terminal_;
    base::Stopwatch clock_;
    double next_ = 0;
};

void print_command_data(const data::Photographs& photographs) {
    std::printf("%lld photographs in %zu classes, %s\n", static_cast<long long>(photographs.size()),
                photographs.classes.size(), photographs.digest().c_str());
}

void print_command_data(const data::BytePairs& pieces) {
    std::printf("%lld pieces, %s\n", static_cast<long long>(pieces.size()),
                data::digest(pieces.text()).c_str());
}

void pack_photographs(const PackArguments& arguments) {
    std::error_code ignored;
    if (fs::is_directory(arguments.target, ignored)) {
        throw UserError("data pack: " + arguments.target + " is a folder: name a file");
    }
    if (!arguments.force && fs::exists(arguments.target, ignored)) {
        throw UserError("data pack: " + arguments.target +
                        " exists already: choose another file, or replace it with --force");
    }
    const auto photographs = data::photographs_in(
        arguments.folder, arguments.by_name ? data::ClassBy::name : data::ClassBy::folder, true);
    PackProgress lines(photographs->size());
    data::pack(*photographs, arguments.target, [&](int64_t done, int64_t bytes) {
        if (!arguments.quiet) lines.show(done, bytes);
    });
    print_command_data(*data::packed_photographs(arguments.target));
}

void compress_folder(const PackArguments& arguments) {
    const std::vector<std::string> names = data::files_to_compress(arguments.folder);
    PackProgress lines(static_cast<int64_t>(names.size()));
    const auto show = [&](int64_t done, int64_t bytes) {
        if (!arguments.quiet) lines.show(done, bytes);
    };
    for (const auto& each :
         data::compress_files(arguments.folder, names, arguments.target, arguments.force, show)) {
        const auto text = [](int64_t bytes) {
            return base::bytes_text(static_cast<double>(bytes));
        };
        std::printf("%s  %s, %s unpacked, %s\n", each.name.c_str(), text(each.compressed).c_str(),
                    text(each.bytes).c_str(), each.digest.c_str());
    }
}

}  // namespace

int command_data_pack(const PackArguments& arguments) {
    if (arguments.compress && arguments.by_name) {
        throw UserError(
            "data pack: --class-by-name is for photographs, which --compress does not "
            "pack: use one of them");
    }
    try {
        arguments.compress ? compress_folder(arguments) : pack_photographs(arguments);
    } catch (const base::RunError& error) {
        throw UserError(std::string("data pack: ") + error.what());
    }
    return 0;
}

int command_data_pieces(const PiecesArguments& arguments) {
    std::error_code ignored;
    if (!arguments.force && fs::exists(arguments.output, ignored)) {
        throw UserError("data pieces: " + arguments.output +
                        " exists already: choose another file, or replace it with --force");
    }
    constexpr int64_t kMost = int64_t{1} << 31;
    std::vector<std::string> lines;
    for (const std::string& path : arguments.texts) {
        const data::DataFile text = data::read_data_file(path, kMost, "where you have it from");
        if (text.size > kMost) {
            throw UserError(path + ": is longer than 2 GiB: use a part of it");
        }
        std::ranges::move(data::lines_of(text), std::back_inserter(lines));
    }
    const data::BytePairs pieces(lines, arguments.pieces);
    try {
        data::write_pieces(pieces, arguments.output);
    } catch (const base::RunError& error) {
        throw UserError(std::string("data pieces: ") + error.what());
    }
    if (pieces.size() < arguments.pieces) {
        base::warn("data pieces: " + std::to_string(pieces.size()) +
                   " pieces, because no other pair occurs twice in these texts");
    }
    print_command_data(pieces);
    return 0;
}

int command_data_verify(const std::string& file) {
    if (data::holds_pieces(file)) {
        print_command_data(data::read_pieces(file));
        return 0;
    }
    const auto photographs = data::packed_photographs(file);
    std::vector<uint8_t> room;
    for (int64_t k = 0; k < photographs->size(); ++k) photographs->bytes(k, room);
    print_command_data(*photographs);
    return 0;
}

}  // namespace dbench::program
