#include <CLI/CLI.hpp>

#include "data/byte_pairs.hpp"
#include "program/command_line/command_line.hpp"
#include "program/command_line/shared_options.hpp"

namespace dbench::program {
namespace {

constexpr const char* kDataExamples = R"(
Examples:
  dbench data pack imagenet/train /scratch/train.pack
  dbench data pack imagenet/val /scratch/val.pack --force
  dbench data pack imagenet-sample sample.pack --class-by-name
  dbench data pack cifar-10-batches-bin small/cifar-10-batches-bin --compress
  dbench data verify /scratch/train.pack     compare all checksums
  dbench data pieces multi30k/train.en multi30k/train.de --pieces 10000 --output pieces.txt
  dbench run translation.json --set data.pieces=pieces.txt
  dbench run spec.json --set data.train=/scratch/train.pack --set data.test=/scratch/val.pack)";

void add_pack(CLI::App& data, CommandLine& line) {
    PackArguments& packing = line.packing;
    auto* pack_command = data.add_subcommand(
        "pack", "pack a folder of photographs into one file with checksums, or compress files");
    pack_command
        ->add_option("FOLDER", packing.folder,
                     "the folder, with one folder of images per class; with --compress, with files")
        ->required();
    pack_command
        ->add_option("TARGET", packing.target, "the file to write; with --compress, the folder")
        ->required();
    pack_command->add_flag("--compress", packing.compress,
                           "write a gzip file for each file of FOLDER, without loss; cifar10, "
                           "cifar100, mnist and fashion_mnist read them as they are");
    pack_command->add_flag("--class-by-name", packing.by_name,
                           "take the class from the file name, up to its first _ or .");
    pack_command->add_flag("--force", packing.force, "replace existing files");
    pack_command->add_flag("--quiet", packing.quiet, "do not print progress");
    pack_command->footer(kDataExamples);
    pack_command->callback(
        [&line] { line.alone = [&line] { return command_data_pack(line.packing); }; });
}

void add_pieces(CLI::App& data, CommandLine& line) {
    PiecesArguments& pieces = line.pieces;
    auto* pieces_command = data.add_subcommand(
        "pieces", "learn byte pairs from training texts, and write them to a file");
    pieces_command->add_option("TEXT", pieces.texts, "files with one sentence per line")
        ->required();
    pieces_command->add_option("--output", pieces.output, "the file to write")
        ->required()
        ->type_name("F");
    pieces_command
        ->add_option("--pieces", pieces.pieces, "number of pieces, with 3 marks and 256 bytes")
        ->capture_default_str()
        ->check(whole_number_between(data::BytePairs::kMerged, 1 << 24));
    pieces_command->add_flag("--force", pieces.force, "replace an existing file");
    pieces_command->footer(kDataExamples);
    pieces_command->callback(
        [&line] { line.alone = [&line] { return command_data_pieces(line.pieces); }; });
}

void add_verify(CLI::App& data, CommandLine& line) {
    auto* verify_command = data.add_subcommand(
        "verify", "compare all checksums of a packed file, or of a file of pieces");
    verify_command->add_option("FILE", line.verified, "the file")->required();
    verify_command->footer(kDataExamples);
    verify_command->callback(
        [&line] { line.alone = [&line] { return command_data_verify(line.verified); }; });
}

}  // namespace

void add_data_commands(CLI::App& app, CommandLine& line) {
    CLI::App& data_command = *app.add_subcommand(
        "data", "pack photographs into one file, compress files, learn byte pairs, verify files");
    data_command.require_subcommand(1);
    data_command.footer(kDataExamples);
    add_pack(data_command, line);
    add_pieces(data_command, line);
    add_verify(data_command, line);
}

}  // namespace dbench::program
