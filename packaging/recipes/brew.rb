# SPDX-License-Identifier: Apache-2.0
# brew.rb FORMULA PREFIX: carries out a formula in the current folder, which has the unpacked source:
# its `install`, and its `test` in the new folder brew-test. Defines the words of Homebrew that the
# formula of dlbridge uses, as Homebrew documents them.
require "fileutils"
require "pathname"
require "shellwords"

class Formula
  class << self
    attr_reader :checks, :facts

    %i[desc homepage url sha256 license depends_on].each do |word|
      define_method(word) { |value| (@facts ||= {})[word] = value }
    end

    def test(&block)
      @checks = block
    end
  end

  attr_reader :prefix, :testpath

  def initialize(prefix, testpath)
    @prefix = Pathname(prefix)
    @testpath = Pathname(testpath)
  end

  def include = prefix/"include"
  def lib = prefix/"lib"
  def version = self.class.facts[:url][/-(\d+(\.\d+)*)\.tar\.gz$/, 1]

  def std_cmake_args
    ["-DCMAKE_INSTALL_PREFIX=#{prefix}", "-DCMAKE_INSTALL_LIBDIR=lib", "-DCMAKE_BUILD_TYPE=Release",
     "-DCMAKE_FIND_FRAMEWORK=LAST", "-DCMAKE_VERBOSE_MAKEFILE=ON", "-Wno-dev", "-DBUILD_TESTING=OFF"]
  end

  def system(*words)
    Kernel.system(*words.map(&:to_s)) || abort("failed: #{words.join(" ")}")
  end

  def shell_output(command)
    text = `#{command}`
    $?.success? ? text : abort("failed: #{command}")
  end

  def assert_equal(expected, found)
    abort("expected #{expected.inspect}, found #{found.inspect}") if expected != found
  end
end

def ENV.cc = fetch("CC", "cc")

formula_file, prefix = ARGV
load File.expand_path(formula_file)
%i[desc homepage url sha256 license].each { |word| Dlbridge.facts[word] || abort("no #{word}") }
formula = Dlbridge.new(File.expand_path(prefix), File.expand_path("brew-test"))
formula.install
FileUtils.mkdir_p(formula.testpath)
Dir.chdir(formula.testpath) { formula.instance_eval(&Dlbridge.checks) }
puts "#{Dlbridge.name.downcase} #{formula.version}: installed and tested"
