// The partition file: the samples of each replica are listed in an .npz file of NumPy.

#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/npy.hpp"
#include "data/files.hpp"
#include "data/partitions/partitions.hpp"
#include "data/partitions/split.hpp"
#include "data/zip.hpp"

namespace dbench::data {
namespace {

constexpr const char* kKey = "/data/partition/path";

struct FilePartitionSpec {
    std::string path;

    static const base::Section<FilePartitionSpec>& section();
};

const base::Section<FilePartitionSpec>& FilePartitionSpec::section() {
    static const base::Section<FilePartitionSpec> keys{
        {base::Parameter::text("path", "",
                               "the .npz file; its arrays arr_0, arr_1, ... or 0, 1, ... hold the "
                               "numbers of the training samples of replicas 0, 1, ..."),
         &FilePartitionSpec::path},
    };
    return keys;
}

[[noreturn]] void refuse(const Zip& file, const std::string& problem) {
    throw base::UserError(std::string(kKey) + ": " + file.path() + ": " + problem);
}

/// Returns the name of the array of a replica without its ending, or "" if there is none.
std::string array_name(const Zip& file, int64_t replica) {
    for (const char* prefix : {"arr_", ""}) {
        std::string name = prefix + std::to_string(replica);
        if (file.has(name + ".npy")) return name;
    }
    return "";
}

std::vector<int64_t> samples_of(const Zip& file, const std::string& name, int64_t samples) {
    const std::string content = file.read(name + ".npy");
    const std::string in = std::string(kKey) + ": " + file.path() + ", " + name;
    const auto array =
        base::parse_npy(content, in, static_cast<size_t>(std::numeric_limits<int32_t>::max()));
    if (array.kind[0] == 'f' || array.kind[0] == 'b') {
        refuse(file, name + " is of type " + array.kind +
                         ": save whole numbers, such as numpy.flatnonzero of a mask");
    }
    if (array.shape.size() != 1) {
        refuse(file, name + " has " + std::to_string(array.shape.size()) +
                         " dimensions: save one list of sample numbers for each replica");
    }
    const auto read = array.reader();
    std::vector<int64_t> mine;
    for (size_t k = 0; k < array.count(); ++k) {
        const auto sample = static_cast<int64_t>(read(array.data.data() + k * array.width()));
        if (sample < 0 || sample >= samples) {
            refuse(file, "entry " + std::to_string(k) + " of " + name + " is " +
                             std::to_string(sample) + ", but the training samples are 0 to " +
                             std::to_string(samples - 1) +
                             " (those of `validation` and beyond `limit` do not count): save "
                             "numbers of training samples");
        }
        mine.push_back(sample);
    }
    return mine;
}

std::unique_ptr<Partition> make_file_partition(const FilePartitionSpec& spec, const Dataset& train,
                                               const DataContext& context) {
    const Zip file(named_file(spec.path, "partition/path"));
    std::vector<std::vector<int64_t>> parts;
    for (int64_t replica = 0; replica < context.replicas; ++replica) {
        const std::string name = array_name(file, replica);
        if (name.empty()) {
            refuse(file, "has no array arr_" + std::to_string(replica) + " (there are " +
                             std::to_string(context.replicas) +
                             " replicas): save it with numpy.savez(FILE, *LISTS), one list for "
                             "each replica");
        }
        parts.push_back(samples_of(file, name, train.size()));
    }
    if (!array_name(file, context.replicas).empty()) {
        refuse(file, "has more lists than the " + std::to_string(context.replicas) +
                         " replicas: set /replicas to their number");
    }
    return fixed_parts(std::move(parts), context,
                       {std::filesystem::path(file.path()).filename().string(),
                        digest(file.bytes()), std::ssize(file.bytes()), file.path()});
}

}  // namespace

PartitionEntry file_partition() {
    return {"file",
            "the samples of each replica are listed in an .npz file; a new order every epoch",
            make_file_partition};
}

}  // namespace dbench::data
