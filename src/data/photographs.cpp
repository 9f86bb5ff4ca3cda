#include "data/photographs.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/framing.hpp"
#include "base/input_file.hpp"
#include "data/files.hpp"
#include "data/photograph_check.hpp"

namespace dbench::data {
namespace {

namespace fs = std::filesystem;
using base::UserError;

// Returns the names in a folder, sorted, without hidden ones.
std::vector<std::string> photograph_names(const fs::path& folder) {
    std::error_code error;
    std::vector<std::string> names = base::names_in(folder.string(), error);
    if (error) {
        throw UserError(folder.string() + ": cannot be read (" + error.message() +
                        "): name a folder of photographs");
    }
    std::erase_if(names, [](const std::string& name) { return name.starts_with("."); });
    return names;
}

class FolderPhotographs : public Photographs {
public:
    FolderPhotographs(const std::string& folder, ClassBy by) : folder_(folder) {
        by == ClassBy::folder ? add_folders() : add_names();
        if (size() > 0) return;
        throw UserError(folder + ": holds no photographs" +
                        (by == ClassBy::folder
                             ? " (it holds no class folders): name the folder that holds one "
                               "folder per class, or set \"class_by\": \"name\""
                             : ": name the folder that holds them"));
    }

    std::string path(int64_t k) const override {
        return (folder_ / names[static_cast<size_t>(k)]).string();
    }

    std::span<const uint8_t> bytes(int64_t k, std::vector<uint8_t>& buffer) const override {
        const std::string name = path(k);
        const base::InputFile file(name);
        require_photograph(file, name);
        buffer.resize(static_cast<size_t>(file.size()));
        if (file.read(0, file.size(), buffer.data()) < file.size()) {
            throw UserError(name +
                            ": became shorter while it was read: leave the files of a data "
                            "set unchanged during a run");
        }
        return buffer;
    }

    std::string digest() const override { return data::digest(base::join_texts(names)); }

    std::string contents_digest() const override { return contents_digest_; }

    void check() {
        std::string seen;
        for (int64_t k = 0; k < size(); ++k) seen += check_photograph(path(k));
        contents_digest_ = data::digest(seen);
    }

private:
    void add_folders() {
        for (const std::string& name : photograph_names(folder_)) {
            if (!is_folder(name)) continue;
            const std::vector<std::string> files = photograph_names(folder_ / name);
            if (files.empty()) {
                throw UserError((folder_ / name).string() +
                                ": holds no photographs (each folder is a class): add some, or "
                                "remove the folder");
            }
            for (const std::string& file : files) add(name, name + "/" + file);
        }
    }

    void add_names() {
        std::vector<std::pair<std::string, std::string>> all;
        for (const std::string& name : photograph_names(folder_)) {
            if (is_folder(name)) continue;
            all.emplace_back(name.substr(0, name.find_first_of("_.")), name);
        }
        std::sort(all.begin(), all.end());
        for (const auto& [label, name] : all) add(label, name);
    }

    bool is_folder(const std::string& name) const {
        return base::kind_of((folder_ / name).string()) == base::PathKind::folder;
    }

    // Precondition: photographs are added in the order of their classes.
    void add(const std::string& label, const std::string& name) {
        if (classes.empty() || classes.back() != label) classes.push_back(label);
        names.push_back(name);
        labels.push_back(static_cast<int32_t>(classes.size() - 1));
    }

    fs::path folder_;
    std::string contents_digest_;
};

}  // namespace

std::shared_ptr<const Photographs> photographs_in(const std::string& folder, ClassBy by,
                                                  bool check) {
    auto all = std::make_shared<FolderPhotographs>(folder, by);
    if (check) all->check();
    return all;
}

}  // namespace dbench::data
